#include <cctype>
#include <nlohmann/json.hpp>

#include "knowledge/config/document_writer.h"
#include "knowledge/config/node.h"

namespace fx::knowledge {
namespace {

bool needs_quotes(const std::string& text) {
  if (yaml_kind(text) != Node::Kind::kString) return true;
  if (text == "y" || text == "n" || text == "Y" || text == "N") return true;
  const auto first = static_cast<unsigned char>(text.front());
  if (std::isalpha(first) == 0 && first != '/' && first != '_') return true;
  if (text.back() == ' ' || text.back() == ':') return true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c >= 0x7F) return true;
    if ((c == ':' && text[i + 1] == ' ') || (c == '#' && text[i - 1] == ' ')) return true;
  }
  return false;
}

std::string number_text(const Json& value) {
  std::string text = to_text(value);
  // PyYAML takes 2e-05 for a string: a float needs its point.
  const auto exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

std::string scalar(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return needs_quotes(text) ? to_text(value) : text;
  }
  return value.is_number_float() ? number_text(value) : to_text(value);
}

void write_value(const Json& value, std::size_t indent, std::string& out);

void write_mapping(const Json& mapping, std::size_t indent, bool first_inline, std::string& out) {
  bool first = first_inline;
  for (const auto& [key, value] : mapping.items()) {
    if (!first) out.append(indent, ' ');
    first = false;
    out += scalar(Json(key)) + ":";
    write_value(value, indent, out);
  }
}

void write_value(const Json& value, std::size_t indent, std::string& out) {
  if (value.is_object() && !value.empty()) {
    out += "\n";
    write_mapping(value, indent + 2, false, out);
  } else if (value.is_array() && !value.empty()) {
    out += "\n";
    for (const Json& item : value) {
      out.append(indent + 2, ' ');
      out += "-";
      if (item.is_object() && !item.empty()) {
        out += " ";
        write_mapping(item, indent + 4, true, out);
      } else {
        write_value(item, indent + 2, out);
      }
    }
  } else {
    out += " " + scalar(value) + "\n";
  }
}

}  // namespace

std::string write_yaml(const Json& mapping) {
  std::string out;
  write_mapping(mapping, 0, false, out);
  return out;
}

}  // namespace fx::knowledge
