#include "server/base64.h"

namespace fx::server {
namespace {

int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t digits = text.size();
  while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
  std::string bytes;
  unsigned buffer = 0;
  int bits = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int value = digit(text[i]);
    if (value < 0) return std::nullopt;
    buffer = (buffer << 6 | static_cast<unsigned>(value)) & 0xFFFFu;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(buffer >> bits & 0xFFu);
    }
  }
  return bytes;
}

}  // namespace fx::server
