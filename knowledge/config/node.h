// One tree for every syntax: key, value, and where the key stands. Readers fill it, rules ask it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

struct Node {
  enum class Kind { kNull, kBool, kInteger, kFloat, kString, kList, kMap };

  std::string name;   // key in the parent mapping, as the file's loader reads it; empty for list items and the root
  std::string shown;  // how a finding names it: dotted path, "--flag", variable name
  Kind kind = Kind::kNull;
  std::string text;     // scalars: the value without quotes
  bool quoted = false;  // scalars: written in quotes, so a string whatever it looks like
  int line = 0;         // 1-based, of the key (of the value for list items)
  int column = 0;
  std::vector<Node> children;

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return !is_map() && !is_list(); }
  bool is_null() const { return kind == Kind::kNull; }
  // Null, empty text, empty mapping or empty list: what frameworks treat as "not given".
  bool is_empty() const;
  // The value in force for a key (the last, when it is written twice); nullptr when absent or not a mapping.
  const Node* find(std::string_view key) const;
  // find() along a dotted path.
  const Node* at(std::string_view path) const;
};

// Readers of one value; all of them accept nullptr as "absent".
bool is_true(const Node* node);   // true, True, yes, on, 1 as the loaders read them (quoted or not)
bool is_false(const Node* node);  // written and false; absent is not false
bool is_set(const Node* node);    // present and not empty
std::optional<long long> integer_of(const Node* node);  // "8", "500_000", "8.0"; nullopt otherwise
std::optional<double> number_of(const Node* node);
std::string text_of(const Node* node);                // "" when absent or not a scalar
std::vector<std::string> words_of(const Node* node);  // items of a list, or the blank/comma separated words of a scalar

struct Duplicate {
  std::string shown;
  int first_line = 0, line = 0, column = 0;
};
struct SyntaxError {
  std::string message;
  int line = 1, column = 1;
};
// What a reader of a structured syntax gives. On a syntax error root is empty.
struct Document {
  Node root;
  std::vector<Duplicate> duplicates;
  std::optional<SyntaxError> error;
};

// Limits against bombs: past them the reader stops with a syntax error that says so.
inline constexpr std::size_t kMaxNodes = 50000;
inline constexpr std::size_t kMaxDepth = 64;

Document read_yaml(std::string_view text);
Document read_json(std::string_view text);
Document read_toml(std::string_view text);
// The 1-based line of the first tab used as YAML indentation; 0: none.
int tab_indented_line(std::string_view text);

// Gives scalars their kind by the rules of YAML 1.1, which PyYAML follows ("no" is a bool).
Node::Kind yaml_kind(std::string_view text);
std::string join_path(const std::string& parent, const std::string& name);

}  // namespace fx::knowledge
