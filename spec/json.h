// JSON at the edges: the type's forward declaration and a bounded parser. Include <nlohmann/json.hpp> in .cpp files
// only.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fx {

using Json = nlohmann::ordered_json;  // keeps the order in which we write fields

struct JsonLimits {
  std::size_t max_depth = 64;
  std::size_t max_bytes = std::size_t{4} << 20;
  std::size_t max_keys = 2048;  // in one object
};

// Errors: kTooLarge, kInvalidArgument with "line L, column C". Never throws, whatever the bytes.
Result<Json> parse_json(std::string_view text, JsonLimits limits = {});
// Compact text; invalid UTF-8 is replaced, never an exception.
std::string to_text(const Json& json, int indent = -1);

Json error_to_json(const Error& error);

}  // namespace fx
