#include "server/commands/file_uri.h"

#include <cctype>

namespace fx::server {

std::string file_uri(std::string_view name) {
  if (name == "-") return "stdin";
  while (name.substr(0, 2) == "./") name.remove_prefix(2);
  std::string uri = name.substr(0, 1) == "/" ? "file://" : "";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos) {
      uri += c;
      continue;
    }
    constexpr char kHex[] = "0123456789ABCDEF";
    uri += '%';
    uri += kHex[byte >> 4];
    uri += kHex[byte & 15];
  }
  return uri;
}

}  // namespace fx::server
