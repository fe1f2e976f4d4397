// File names as SARIF's artifact locations want them.
#pragma once

#include <string>
#include <string_view>

namespace fx::server {

// Relative names stay relative; "/a b" becomes "file:///a%20b"; "-" is "stdin". Windows drives are not treated apart.
std::string file_uri(std::string_view name);

}  // namespace fx::server
