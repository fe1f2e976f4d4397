// JSON as Python's json module reads it, with the line and column of every key.
#include <cctype>
#include <unordered_map>

#include "base/text.h"
#include "knowledge/config/node.h"

namespace fx::knowledge {
namespace {

bool has_leading_zero(std::string_view number) {
  if (number.front() == '-') number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0' && std::isdigit(static_cast<unsigned char>(number[1])) != 0;
}

class Reader {
 public:
  Reader(std::string_view text, Document& out) : text_(text), out_(out) {}

  void run() {
    skip_blanks();
    if (!value(out_.root, 0, "")) return;
    skip_blanks();
    if (at_ < text_.size()) fail("extra data after the end of the document");
  }

 private:
  bool fail(const std::string& what) {
    if (!out_.error) out_.error = SyntaxError{what, line_, column()};
    return false;
  }
  int column() const { return static_cast<int>(at_ - line_start_) + 1; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void next() {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    ++at_;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) next();
  }

  bool value(Node& node, std::size_t depth, const std::string& path) {
    if (depth > kMaxDepth) return fail("nested deeper than " + std::to_string(kMaxDepth) + " levels");
    if (++nodes_ > kMaxNodes) return fail("more than " + std::to_string(kMaxNodes) + " values");
    node.shown = path;
    if (node.line == 0) {
      node.line = line_;
      node.column = column();
    }
    switch (peek()) {
      case '{':
        return object(node, depth, path);
      case '[':
        return array(node, depth, path);
      case '"':
        node.kind = Node::Kind::kString;
        node.quoted = true;
        return string(node.text);
      default:
        return literal(node);
    }
  }

  bool literal(Node& node) {
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '-' ||
                                  text_[end] == '+' || text_[end] == '.')) {
      ++end;
    }
    const std::string_view word = text_.substr(begin, end - begin);
    if (word == "null") {
      node.kind = Node::Kind::kNull;
    } else if (word == "true" || word == "false") {
      node.kind = Node::Kind::kBool;
    } else if (word == "NaN" || word == "Infinity" || word == "-Infinity") {
      node.kind = Node::Kind::kFloat;
    } else if (word.empty() || (word[0] != '-' && std::isdigit(static_cast<unsigned char>(word[0])) == 0) ||
               !to_number(word) || has_leading_zero(word)) {
      return fail("a value was expected here");
    } else {
      node.kind = to_integer(word) ? Node::Kind::kInteger : Node::Kind::kFloat;
    }
    node.text = node.is_null() ? "" : std::string(word);
    at_ = end;
    return true;
  }

  bool string(std::string& out) {
    next();
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') return fail("the string is not closed");
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        next();
        const char c = peek();
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'u' ? '?' : c;
      } else {
        out += peek();
      }
      next();
    }
    next();
    return true;
  }

  bool object(Node& node, std::size_t depth, const std::string& path) {
    node.kind = Node::Kind::kMap;
    next();
    skip_blanks();
    std::unordered_map<std::string, int> seen;
    if (peek() == '}') return next(), true;
    while (true) {
      if (peek() != '"') return fail("a property name in double quotes was expected here");
      Node child;
      child.line = line_;
      child.column = column();
      if (!string(child.name)) return false;
      skip_blanks();
      if (peek() != ':') return fail("':' was expected here");
      next();
      skip_blanks();
      const std::string child_path = join_path(path, child.name);
      if (!value(child, depth + 1, child_path)) return false;
      const auto [first, fresh] = seen.emplace(child.name, child.line);
      if (!fresh) out_.duplicates.push_back({child_path, first->second, child.line, child.column});
      node.children.push_back(std::move(child));
      skip_blanks();
      if (peek() == '}') return next(), true;
      if (peek() != ',') return fail("',' or '}' was expected here");
      next();
      skip_blanks();
    }
  }

  bool array(Node& node, std::size_t depth, const std::string& path) {
    node.kind = Node::Kind::kList;
    next();
    skip_blanks();
    if (peek() == ']') return next(), true;
    while (true) {
      Node child;
      if (!value(child, depth + 1, path + "[" + std::to_string(node.children.size()) + "]")) return false;
      node.children.push_back(std::move(child));
      skip_blanks();
      if (peek() == ']') return next(), true;
      if (peek() != ',') return fail("',' or ']' was expected here");
      next();
      skip_blanks();
    }
  }

  std::string_view text_;
  Document& out_;
  std::size_t at_ = 0, line_start_ = 0, nodes_ = 0;
  int line_ = 1;
};

}  // namespace

Document read_json(std::string_view text) {
  Document out;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  Reader(text, out).run();
  if (out.error) out.root = {};
  return out;
}

}  // namespace fx::knowledge
