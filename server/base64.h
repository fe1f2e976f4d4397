// Base64 of RFC 4648, strict: padding is needed, nothing else than the alphabet is accepted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fx::server {

std::optional<std::string> decode_base64(std::string_view text);

}  // namespace fx::server
