#include "knowledge/edit/locate.h"

#include <cctype>

#include "base/text.h"

namespace fx::knowledge {
namespace {

const Node* find_place(const Node& node, const Place& place) {
  if (node.line == place.line && node.column == place.column && node.shown == place.shown && !node.shown.empty())
    return &node;
  for (const Node& child : node.children) {
    if (const Node* found = find_place(child, place)) return found;
  }
  return nullptr;
}

bool is_literal(const std::string& value) {
  return value == "true" || value == "false" || value == "null" || to_number(value).has_value() ||
         (!value.empty() && (value.front() == '[' || value.front() == '{'));
}

// The name of an entry in its mapping; a TOML header shows its whole path.
std::optional<Entry> locate_structured(const Input& input, const Node& node, std::size_t at) {
  const std::string& text = input.text;
  if (input.syntax == "yaml") return yaml_entry(text, at, node.name);
  if (input.syntax == "json") return json_entry(text, at, node.name);
  if (input.syntax == "python") return keyword_entry(text, at, node.name);
  if (input.syntax != "toml") return std::nullopt;
  auto entry = toml_entry(text, at, node.name);
  return entry ? entry : toml_entry(text, at, node.shown);
}

std::optional<Entry> locate_word(const Input& input, const Place& place, std::size_t at) {
  const std::string& text = input.text;
  if (place.shown.rfind("#SBATCH ", 0) == 0) return directive_entry(text, at, place.shown.substr(8));
  if (place.shown.rfind("-", 0) == 0) {
    const Node* node = node_at(input, place);
    // Findings about JSON inside a flag stand at the flag; the flag as a whole is not what they mean.
    if (node != nullptr && contains(node->text, "{")) return std::nullopt;
    return flag_entry(text, at, place.shown, node == nullptr ? std::nullopt : std::optional<std::string>(node->text));
  }
  for (const Assignment& assignment : input.script.assignments) {
    if (assignment.line == place.line && assignment.column == place.column && assignment.name == place.shown)
      return assignment_entry(text, at, place.shown);
  }
  return override_entry(text, at, place.shown);
}

}  // namespace

Place place_of(const Node& node) {
  return {node.shown, node.line, node.column};
}
Place place_of(const Assignment& assignment) {
  return {assignment.name, assignment.line, assignment.column};
}

const Node* node_at(const Input& input, const Place& place) {
  if (const Node* found = find_place(input.document.root, place)) return found;
  for (const Launch& launch : input.launches) {
    for (const Node* flags : {&launch.flags, &launch.unknown, &launch.arguments}) {
      if (const Node* found = find_place(*flags, place)) return found;
    }
  }
  return nullptr;
}

std::optional<Entry> locate(const Input& input, const TextMap& map, const Place& place) {
  const auto at = map.offset(place.line, place.column);
  if (!at) return std::nullopt;
  if (input.syntax == "shell") return locate_word(input, place, *at);
  const Node* node = node_at(input, place);
  return node == nullptr ? std::nullopt : locate_structured(input, *node, *at);
}

std::string render(const std::string& value, Entry::Form form, std::string_view old) {
  using Form = Entry::Form;
  std::string word = value;
  const bool is_bool = value == "true" || value == "false";
  const bool capital = form == Form::kKeyword || form == Form::kOverride || form == Form::kFlag ||
                       form == Form::kYamlBlock || form == Form::kYamlFlow;
  if (is_bool && capital && (old == "True" || old == "False" || form == Form::kKeyword))
    word = value == "true" ? "True" : "False";
  switch (form) {
    case Form::kYamlBlock:
    case Form::kYamlFlow:
      return !is_literal(value) && yaml_kind(value) != Node::Kind::kString ? "'" + value + "'" : word;
    case Form::kJson:
    case Form::kTomlLine:
    case Form::kTomlInline:
    case Form::kTomlTable:
    case Form::kKeyword:
      return is_literal(value) ? word : "\"" + value + "\"";
    case Form::kFlag:
    case Form::kOverride:
    case Form::kAssignment:
    case Form::kDirective:
      if (old.size() >= 2 && old.front() == old.back() && (old.front() == '"' || old.front() == '\''))
        return old.front() + word + old.back();
      return contains(word, " ") ? "\"" + word + "\"" : word;
  }
  return word;
}

std::string last_part(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}
std::string parent_part(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

}  // namespace fx::knowledge
