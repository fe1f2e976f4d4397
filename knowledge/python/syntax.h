// The syntax tree of one Python file, as a flat list that cannot overflow a stack: broken code gives a tree too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge::python {

// Deeper nodes are left out, so that code which walks the tree by recursion stays bounded.
inline constexpr int kMaxDepth = 200;
inline constexpr std::size_t kMaxBytes = 4u << 20;
// Nodes kept of one file; the rest of a larger file is left out.
inline constexpr std::size_t kMaxNodes = 1u << 20;
// Several times what the densest real code of kMaxBytes takes; text that is no Python can take far more.
inline constexpr double kMaxCpuSeconds = 1.2;

class Syntax;

// A node, cheap to copy; valid as long as its Syntax. A missing node converts to false and answers emptily.
class Node {
 public:
  Node() = default;
  Node(const Syntax* syntax, std::uint32_t index) : syntax_(syntax), index_(index) {}

  explicit operator bool() const { return syntax_ != nullptr; }
  bool operator==(const Node& other) const = default;

  std::string_view kind() const;  // the grammar's name: "call", "identifier", "ERROR", or an operator's text
  bool is(std::string_view kind_name) const { return syntax_ != nullptr && kind() == kind_name; }
  std::string_view field() const;  // the name under which the parent holds it; may be empty
  std::string_view text() const;
  int line() const;    // 1-based
  int column() const;  // 1-based, in bytes
  int end_line() const;
  std::size_t begin() const;  // byte offset
  std::size_t end() const;
  Node parent() const;
  Node first_child() const;
  Node next_sibling() const;
  Node child(std::string_view field_name) const;  // the first under that field
  std::vector<Node> children() const;             // named ones and operators, comments left out
  std::vector<Node> children(std::string_view field_name) const;
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
    std::string_view kind, field;  // static storage of the grammar
    std::uint32_t begin, end, line, column, end_line;
    std::uint32_t parent, next;  // 0: none
  };
  std::string text_;
  std::vector<Row> nodes_;
  bool has_errors_ = false;
  std::string_view left_out_;
  double cpu_seconds_ = 0;
};

}  // namespace fx::knowledge::python
