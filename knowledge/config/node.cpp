#include "knowledge/config/node.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace fx::knowledge {
namespace {

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

}  // namespace

bool Node::is_empty() const {
  if (is_map() || is_list()) return children.empty();
  return is_null() || text.empty();
}

const Node* Node::find(std::string_view key) const {
  if (!is_map()) return nullptr;
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    if (child->name == key) return &*child;
  }
  return nullptr;
}

const Node* Node::at(std::string_view path) const {
  const Node* node = this;
  for (const auto part : split(path, '.')) {
    if (node == nullptr) return nullptr;
    node = node->find(part);
  }
  return node;
}

bool is_true(const Node* node) {
  if (node == nullptr || !node->is_scalar()) return false;
  const std::string low = to_lower(node->text);
  return low == "true" || low == "1" || low == "yes" || low == "on" || low == "y";
}

bool is_false(const Node* node) {
  if (node == nullptr || !node->is_scalar()) return false;
  const std::string low = to_lower(node->text);
  return low == "false" || low == "0" || low == "no" || low == "off" || low == "n";
}

bool is_set(const Node* node) {
  return node != nullptr && !node->is_empty();
}

std::optional<double> number_of(const Node* node) {
  if (node == nullptr || !node->is_scalar() || node->text.empty()) return std::nullopt;
  return to_number(without_underscores(node->text));
}

std::optional<long long> integer_of(const Node* node) {
  const auto number = number_of(node);
  if (!number || *number < -9e15 || *number > 9e15) return std::nullopt;
  const auto whole = static_cast<long long>(*number);
  if (static_cast<double>(whole) != *number) return std::nullopt;
  return whole;
}

std::string text_of(const Node* node) {
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

std::vector<std::string> words_of(const Node* node) {
  std::vector<std::string> words;
  if (node == nullptr) return words;
  if (node->is_list()) {
    for (const Node& item : node->children) words.push_back(text_of(&item));
    return words;
  }
  std::string word;
  for (const char c : node->text + ' ') {
    if (c != ' ' && c != ',' && c != '\t' && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

Node::Kind yaml_kind(std::string_view text) {
  static constexpr std::array<std::string_view, 5> nulls = {"", "~", "null", "Null", "NULL"};
  static constexpr std::array<std::string_view, 18> bools = {"yes",  "Yes",  "YES",  "no",    "No",    "NO",
                                                             "true", "True", "TRUE", "false", "False", "FALSE",
                                                             "on",   "On",   "ON",   "off",   "Off",   "OFF"};
  if (one_of(text, nulls)) return Node::Kind::kNull;
  if (one_of(text, bools)) return Node::Kind::kBool;
  const char first = text.front();
  if (std::isdigit(static_cast<unsigned char>(first)) == 0 && first != '-' && first != '+' && first != '.') {
    return Node::Kind::kString;
  }
  const std::string plain = without_underscores(text.front() == '+' ? text.substr(1) : text);
  if (to_integer(plain)) return Node::Kind::kInteger;
  return to_number(plain) ? Node::Kind::kFloat : Node::Kind::kString;
}

std::string join_path(const std::string& parent, const std::string& name) {
  return parent.empty() ? name : parent + "." + name;
}

}  // namespace fx::knowledge
