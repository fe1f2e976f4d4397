#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/config/document_writer.h"

namespace fx::knowledge {
namespace {

std::string shell_quoted(const std::string& text) {
  static constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@+%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  return "'" + replace_all(text, "'", "'\\''") + "'";
}

}  // namespace

std::string write_flags(const Json& mapping) {
  std::string out;
  for (const auto& [key, value] : mapping.items()) {
    std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
    if (value.is_boolean()) text = value.get<bool>() ? "True" : "False";
    out += (out.empty() ? "--" : " \\\n    --") + key + " " + shell_quoted(text);
  }
  return out;
}

}  // namespace fx::knowledge
