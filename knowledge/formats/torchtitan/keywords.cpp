// Keyword arguments of Python calls, found by brackets, strings and comments alone; broken code does no harm.
#include <cctype>

#include "base/text.h"
#include "knowledge/formats/torchtitan/torchtitan.h"

namespace fx::knowledge {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Node run() {
    Node root;
    root.kind = Node::Kind::kMap;
    std::string word;
    while (at_ < text_.size() && root.children.size() < 2000) {
      const char c = text_[at_];
      if (is_name(c)) {
        word = name();
      } else if (c == '(') {
        step();
        read_call(word, root, 0);
        word.clear();
      } else if (!skip_quiet()) {
        if (c != '.' && c != ' ') word.clear();
        step();
      }
    }
    return root;
  }

 private:
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  void step() {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    ++at_;
  }
  std::string name() {
    std::string out;
    while (at_ < text_.size() && is_name(text_[at_])) out += text_[at_++];
    return out;
  }
  // A comment or a string literal at the cursor; false when there is neither.
  bool skip_quiet() {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return true;
    }
    if (c != '"' && c != '\'') return false;
    const bool triple = text_.substr(at_, 3) == std::string(3, c);
    const std::string end(triple ? 3 : 1, c);
    at_ += end.size();
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) step();
      if (!triple && text_[at_] == '\n') return true;
      step();
    }
    at_ = std::min(text_.size(), at_ + end.size());
    return true;
  }

  void read_call(const std::string& call, Node& root, int depth) {
    Node node;
    node.kind = Node::Kind::kMap;
    node.name = node.shown = call;
    node.line = line_;
    std::string word;
    int word_line = line_, word_column = 1;
    while (at_ < text_.size() && text_[at_] != ')') {
      const char c = text_[at_];
      if (is_name(c)) {
        word_line = line_;
        word_column = static_cast<int>(at_ - line_start_) + 1;
        word = name();
      } else if (c == '(' && depth < 32) {
        step();
        read_call(word, root, depth + 1);
      } else if (c == '=' && at_ + 1 < text_.size() && text_[at_ + 1] != '=' && !word.empty()) {
        step();
        node.children.push_back(read_value(word, word_line, word_column, root, depth));
        word.clear();
      } else if (!skip_quiet()) {
        if (c != ' ') word.clear();
        step();
      }
    }
    if (at_ < text_.size()) step();
    root.children.push_back(std::move(node));
  }

  Node read_value(const std::string& key, int line, int column, Node& root, int depth) {
    Node value;
    value.name = value.shown = key;
    value.line = line;
    value.column = column;
    const std::size_t begin = at_;
    std::string word;
    int brackets = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (brackets == 0 && (c == ',' || c == ')')) break;
      if (is_name(c)) {
        word = name();
      } else if (c == '(' && depth < 32) {
        step();
        read_call(word, root, depth + 1);
      } else if (!skip_quiet()) {
        brackets += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        step();
      }
    }
    std::string text(trim(text_.substr(begin, at_ - begin)));
    value.quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
    value.text = value.quoted ? text.substr(1, text.size() - 2) : text == "None" ? "" : text;
    value.kind = value.quoted ? Node::Kind::kString : yaml_kind(value.text);
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

Document read_keyword_arguments(std::string_view text) {
  Document out;
  out.root = Scanner(text).run();
  return out;
}

}  // namespace fx::knowledge
