#include <cctype>
#include <nlohmann/json.hpp>

#include "knowledge/config/document_writer.h"

namespace fx::knowledge {
namespace {

std::string key_text(const std::string& key) {
  bool bare = !key.empty();
  for (const char c : key) bare = bare && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-');
  return bare ? key : to_text(Json(key));
}

std::string inline_value(const Json& value) {
  std::string out;
  if (value.is_array()) {
    for (const Json& item : value) out += (out.empty() ? "" : ", ") + inline_value(item);
    return "[" + out + "]";
  }
  if (!value.is_object()) return to_text(value);
  for (const auto& [key, item] : value.items()) {
    if (!item.is_null()) out += (out.empty() ? "" : ", ") + key_text(key) + " = " + inline_value(item);
  }
  return "{" + out + "}";
}

void write_table(const Json& table, const std::string& path, std::string& out) {
  bool headed = path.empty();
  for (const auto& [key, value] : table.items()) {
    if (value.is_object() || value.is_null()) continue;
    if (!headed) out += (out.empty() ? "[" : "\n[") + path + "]\n";
    headed = true;
    out += key_text(key) + " = " + inline_value(value) + "\n";
  }
  for (const auto& [key, value] : table.items()) {
    if (value.is_object()) write_table(value, path.empty() ? key_text(key) : path + "." + key_text(key), out);
  }
}

}  // namespace

std::string write_toml(const Json& mapping) {
  std::string out;
  write_table(mapping, "", out);
  return out;
}

}  // namespace fx::knowledge
