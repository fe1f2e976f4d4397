// The syntax tree of one Python file, as a flat list that cannot overflow a stack: broken code gives a tree too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/python/grammar_name.h"

namespace fx::knowledge::python {

// Deeper nodes are left out, so that code which walks the tree by recursion stays bounded.
inline constexpr int kMaxDepth = 200;
inline constexpr std::size_t kMaxBytes = 4u << 20;
// Nodes kept of one file; the rest of a larger file is left out.
inline constexpr std::size_t kMaxNodes = 1u << 20;
// Several times what the densest real code of kMaxBytes takes; text that is no Python can take far more.
inline constexpr double kMaxCpuSeconds = 1.2;

class Syntax;

// The grammar's names of kinds, by their number; "ERROR" is the last. Of fields likewise; 0 is none.
std::span<const std::string_view> kind_names();
std::span<const std::string_view> field_names();
// What GrammarName makes of them, by the same numbers.
std::span<const std::uint32_t> kind_marks();
std::span<const std::uint32_t> field_marks();

// A node, cheap to copy; valid as long as its Syntax. A missing node converts to false and answers emptily.
class Node {
 public:
  Node() = default;
  Node(const Syntax* syntax, std::uint32_t index) : syntax_(syntax), index_(index) {}

  explicit operator bool() const { return syntax_ != nullptr; }
  bool operator==(const Node& other) const = default;

  std::size_t kind_number() const;  // in kind_names()
  std::string_view kind() const;    // the grammar's name: "call", "identifier", "ERROR", or an operator's text
  bool is(GrammarName kind_name) const;
  std::string_view field() const;  // the name under which the parent holds it; may be empty
  bool is_under(GrammarName field_name) const;
  std::string_view text() const;
  int line() const;    // 1-based
  int column() const;  // 1-based, in bytes
  int end_line() const;
  std::size_t begin() const;  // byte offset
  std::size_t end() const;
  Node parent() const;
  Node first_child() const;
  Node next_sibling() const;
  Node child(GrammarName field_name) const;  // the first under that field
  std::size_t child_count() const;
  std::vector<Node> children() const;  // named ones and operators, comments left out
  std::vector<Node> children(GrammarName field_name) const;
  std::uint32_t index() const { return index_; }  // position in the file's preorder

 private:
  const Syntax* syntax_ = nullptr;
  std::uint32_t index_ = 0;
};

class Syntax {
 public:
  // Never fails: text that is no Python gives ERROR nodes; text that is too large or takes too much work gives an empty
  // tree. cpu_seconds bounds the time this thread computes, which a busy machine does not change.
  static std::unique_ptr<const Syntax> parse(std::string text, double cpu_seconds = kMaxCpuSeconds);

  Node root() const { return nodes_.empty() ? Node() : Node(this, 0); }
  std::string_view text() const { return text_; }
  bool has_errors() const { return has_errors_; }         // some part is not Python
  bool incomplete() const { return !left_out_.empty(); }  // some part was left out
  // What was left out and why, as the end of a sentence about the file; empty: nothing.
  std::string_view left_out() const { return left_out_; }
  double cpu_seconds() const { return cpu_seconds_; }  // that parsing took
  std::size_t size() const { return nodes_.size(); }
  Node at(std::uint32_t index) const { return {this, index}; }

  Syntax(const Syntax&) = delete;  // nodes point to it
  Syntax& operator=(const Syntax&) = delete;

 private:
  friend class Node;
  friend class SyntaxBuilder;
  Syntax(std::string text, double cpu_seconds);

  struct Row {
    std::uint16_t kind, field;
    std::uint32_t begin, end, line, column, end_line;
    std::uint32_t parent, next;  // 0: none
  };
  bool has_field(std::uint32_t index, GrammarName name) const {
    return field_marks_[nodes_[index].field] == name.mark();
  }

  std::span<const std::string_view> kinds_ = kind_names(), fields_ = field_names();
  std::span<const std::uint32_t> kind_marks_ = kind_marks(), field_marks_ = field_marks();
  std::string text_;
  std::vector<Row> nodes_;
  bool has_errors_ = false;
  std::string_view left_out_;
  double cpu_seconds_ = 0;
};

inline std::size_t Node::kind_number() const {
  return syntax_ == nullptr ? 0 : syntax_->nodes_[index_].kind;
}

inline std::string_view Node::kind() const {
  return syntax_ == nullptr ? std::string_view() : syntax_->kinds_[syntax_->nodes_[index_].kind];
}

inline bool Node::is(GrammarName kind_name) const {
  return syntax_ != nullptr && syntax_->kind_marks_[syntax_->nodes_[index_].kind] == kind_name.mark();
}

inline bool Node::is_under(GrammarName field_name) const {
  return syntax_ != nullptr && syntax_->has_field(index_, field_name);
}

inline std::string_view Node::field() const {
  return syntax_ == nullptr ? std::string_view() : syntax_->fields_[syntax_->nodes_[index_].field];
}

inline Node Node::first_child() const {
  if (syntax_ == nullptr || index_ + 1 >= syntax_->nodes_.size()) return {};
  return syntax_->nodes_[index_ + 1].parent == index_ ? Node(syntax_, index_ + 1) : Node();
}

inline Node Node::next_sibling() const {
  if (syntax_ == nullptr || syntax_->nodes_[index_].next == 0) return {};
  return {syntax_, syntax_->nodes_[index_].next};
}

inline Node Node::child(GrammarName field_name) const {
  for (Node node = first_child(); node; node = node.next_sibling()) {
    if (node.is_under(field_name)) return node;
  }
  return {};
}

}  // namespace fx::knowledge::python
