// TOML through toml++, whose source regions give the line of every key.
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "knowledge/config/node.h"

namespace fx::knowledge {
namespace {

Node::Kind kind_of(const toml::node& value) {
  if (value.is_boolean()) return Node::Kind::kBool;
  if (value.is_integer()) return Node::Kind::kInteger;
  if (value.is_floating_point()) return Node::Kind::kFloat;
  return Node::Kind::kString;
}

std::string text_of_value(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* flag = value.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* integer = value.as_integer()) return std::to_string(integer->get());
  std::ostringstream out;
  if (const auto* real = value.as_floating_point()) out << real->get();
  return out.str();
}

Node convert(const toml::node& value, const std::string& path, std::size_t depth) {
  Node node;
  node.shown = path;
  node.line = static_cast<int>(value.source().begin.line);
  node.column = static_cast<int>(value.source().begin.column);
  if (depth > kMaxDepth) return node;
  if (const auto* table = value.as_table()) {
    node.kind = Node::Kind::kMap;
    for (const auto& [key, child] : *table) {
      const std::string name(key.str());
      Node member = convert(child, join_path(path, name), depth + 1);
      member.name = name;
      if (key.source().begin.line != 0) {
        member.line = static_cast<int>(key.source().begin.line);
        member.column = static_cast<int>(key.source().begin.column);
      }
      node.children.push_back(std::move(member));
    }
    std::sort(node.children.begin(), node.children.end(),
              [](const Node& a, const Node& b) { return a.line != b.line ? a.line < b.line : a.column < b.column; });
  } else if (const auto* array = value.as_array()) {
    node.kind = Node::Kind::kList;
    for (const auto& item : *array) {
      node.children.push_back(convert(item, path + "[" + std::to_string(node.children.size()) + "]", depth + 1));
    }
  } else {
    node.kind = kind_of(value);
    node.quoted = value.is_string();
    node.text = text_of_value(value);
  }
  return node;
}

}  // namespace

Document read_toml(std::string_view text) {
  Document out;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  try {
    out.root = convert(toml::parse(text), "", 0);
  } catch (const toml::parse_error& error) {
    out.error = SyntaxError{std::string(error.description()), static_cast<int>(error.source().begin.line),
                            static_cast<int>(error.source().begin.column)};
  }
  return out;
}

}  // namespace fx::knowledge
