#include "knowledge/log/field_reader.h"

#include <cmath>
#include <cstdlib>

namespace fx::knowledge {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Reads [-+]digits[.digits][e[-+]digits] at pos and moves pos behind it.
std::optional<double> number_at(std::string_view text, std::size_t& pos) {
  std::size_t end = pos;
  if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  const std::size_t first_digit = end;
  while (end < text.size() && digit(text[end])) ++end;
  if (end == first_digit) return std::nullopt;
  if (end + 1 < text.size() && text[end] == '.' && digit(text[end + 1])) {
    ++end;
    while (end < text.size() && digit(text[end])) ++end;
  }
  if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    if (exponent < text.size() && digit(text[exponent])) {
      while (exponent < text.size() && digit(text[exponent])) ++exponent;
      end = exponent;
    }
  }
  const std::string copy(text.substr(pos, std::min<std::size_t>(end - pos, 40)));
  pos = end;
  return std::strtod(copy.c_str(), nullptr);
}

std::size_t behind(std::string_view text, std::string_view key) {
  auto at = text.find(key);
  if (at == std::string_view::npos) return at;
  at += key.size();
  while (at < text.size() && text[at] == ' ') ++at;
  return at;
}

// Bytes of one unit at pos ("gib", "MB", "kB", "G"), 0 if there is none.
double unit_at(std::string_view text, std::size_t pos) {
  while (pos < text.size() && text[pos] == ' ') ++pos;
  if (pos >= text.size()) return 0;
  static constexpr std::string_view kLetters = "kmgtpe";
  const char c = static_cast<char>(text[pos] | 0x20);
  const auto power = kLetters.find(c);
  if (power == std::string_view::npos) return 0;
  std::size_t end = pos + 1;
  if (end < text.size() && (text[end] | 0x20) == 'i') ++end;
  const bool binary = end == pos + 2;
  const bool bytes = end < text.size() && (text[end] | 0x20) == 'b';
  if (bytes) ++end;
  if ((!bytes && !binary && pos > 0 && text[pos - 1] == ' ') || (end < text.size() && letter(text[end]))) return 0;
  return std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power) + 1);
}

}  // namespace

std::optional<double> number_after(std::string_view text, std::string_view key) {
  std::size_t at = behind(text, key);
  if (at == std::string_view::npos) return std::nullopt;
  return number_at(text, at);
}

std::optional<long long> integer_after(std::string_view text, std::string_view key) {
  const auto value = number_after(text, key);
  if (!value || std::abs(*value) > 9e17) return std::nullopt;
  return static_cast<long long>(*value);
}

std::string word_after(std::string_view text, std::string_view key) {
  const std::size_t at = behind(text, key);
  if (at == std::string_view::npos) return {};
  std::size_t end = at;
  while (end < text.size() && (letter(text[end]) || digit(text[end]) ||
                               std::string_view("_.-/:").find(text[end]) != std::string_view::npos)) {
    ++end;
  }
  return std::string(text.substr(at, end - at));
}

std::optional<double> size_after(std::string_view text, std::string_view key) {
  std::size_t at = behind(text, key);
  if (at == std::string_view::npos) return std::nullopt;
  if (text.substr(at, 10) == "more than ") at += 10;
  const auto value = number_at(text, at);
  const double unit = unit_at(text, at);
  if (!value || unit == 0) return std::nullopt;
  return *value * unit;
}

std::vector<double> sizes_in(std::string_view text) {
  std::vector<double> out;
  for (std::size_t at = 0; at < text.size();) {
    if (!digit(text[at]) || (at > 0 && (letter(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '_'))) {
      ++at;
      continue;
    }
    const auto value = number_at(text, at);
    if (const double unit = unit_at(text, at); value && unit > 0) out.push_back(*value * unit);
  }
  return out;
}

std::vector<long long> integers_in(std::string_view text) {
  std::vector<long long> out;
  for (std::size_t at = 0; at < text.size();) {
    if (!digit(text[at])) {
      ++at;
      continue;
    }
    long long value = 0;
    std::size_t digits = 0;
    const auto grouped = [&] {
      return text[at] == ',' && at + 3 < text.size() && digit(text[at + 1]) && digit(text[at + 2]) &&
             digit(text[at + 3]) && (at + 4 >= text.size() || !digit(text[at + 4])) && digits > 0 && digits <= 15;
    };
    for (; at < text.size() && (digit(text[at]) || grouped()); ++at) {
      if (text[at] == ',') continue;
      if (++digits <= 17) value = value * 10 + (text[at] - '0');
    }
    if (digits <= 17) out.push_back(value);
  }
  return out;
}

}  // namespace fx::knowledge
