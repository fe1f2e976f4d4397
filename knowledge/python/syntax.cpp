#include "knowledge/python/syntax.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <memory>

#include "knowledge/python/parse_memory.h"

extern "C" const TSLanguage* tree_sitter_python();

namespace fx::knowledge::python {
namespace {

// Every hundred operations the parser looks at this flag and pauses; the next call goes on. Where it pauses may change
// the tree of broken code: a pause by the clock would give other answers each time.
constexpr std::size_t kPause = 1;
constexpr int kMaxBrackets = 1000;

struct ParserDelete {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};
using Parser = std::unique_ptr<TSParser, ParserDelete>;

struct Cursor {
  explicit Cursor(TSNode root) : cursor(ts_tree_cursor_new(root)) {}
  ~Cursor() { ts_tree_cursor_delete(&cursor); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  TSTreeCursor cursor;
};

// The parser's own work on nesting is recursive in places. Brackets in strings count too: no real file comes near.
bool nests_too_deep(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') {
      if (++depth > kMaxBrackets) return true;
    } else if ((c == ')' || c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// nullptr: too much work. The tree lives as long as the memory it was made in.
const TSTree* parse_text(const std::string& text, double cpu_seconds) {
  const Parser parser(ts_parser_new());
  if (!parser || !ts_parser_set_language(parser.get(), tree_sitter_python())) return nullptr;
  ts_parser_set_cancellation_flag(parser.get(), &kPause);
  const double until = thread_seconds() + cpu_seconds;
  const TSTree* tree = nullptr;
  while (tree == nullptr && thread_seconds() < until)
    tree = ts_parser_parse_string(parser.get(), nullptr, text.data(), static_cast<std::uint32_t>(text.size()));
  return tree;
}

// The grammar's names of kinds and fields, by their numbers.
struct GrammarNames {
  std::vector<std::string_view> kinds, fields = {""};
  std::vector<std::uint32_t> kind_marks, field_marks;
  GrammarNames() {
    const TSLanguage* language = tree_sitter_python();
    for (std::uint32_t i = 0; i < ts_language_symbol_count(language); ++i)
      kinds.emplace_back(ts_language_symbol_name(language, static_cast<TSSymbol>(i)));
    for (std::uint32_t i = 1; i <= ts_language_field_count(language); ++i)
      fields.emplace_back(ts_language_field_name_for_id(language, static_cast<TSFieldId>(i)));
    kinds.emplace_back("ERROR");
    std::ranges::transform(kinds, std::back_inserter(kind_marks), mark_of);
    std::ranges::transform(fields, std::back_inserter(field_marks), mark_of);
  }
};

const GrammarNames& grammar_names() {
  static const GrammarNames names;
  return names;
}

}  // namespace

std::span<const std::string_view> kind_names() {
  return grammar_names().kinds;
}

std::span<const std::string_view> field_names() {
  return grammar_names().fields;
}

std::span<const std::uint32_t> kind_marks() {
  return grammar_names().kind_marks;
}

std::span<const std::uint32_t> field_marks() {
  return grammar_names().field_marks;
}

class SyntaxBuilder {
 public:
  explicit SyntaxBuilder(Syntax& syntax) : syntax_(syntax) {
    syntax_.nodes_.reserve(std::min(kMaxNodes, syntax_.text_.size() / 3));
  }

  void build(TSNode root) {
    syntax_.has_errors_ = ts_node_has_error(root);
    Cursor walk(root);
    while (true) {
      const bool kept = enter(walk.cursor);
      if (kept && ts_tree_cursor_goto_first_child(&walk.cursor)) continue;
      if (kept) leave();
      while (!ts_tree_cursor_goto_next_sibling(&walk.cursor)) {
        if (!ts_tree_cursor_goto_parent(&walk.cursor)) return;
        leave();
      }
    }
  }

 private:
  // False: the node and what is below it are left out.
  bool enter(TSTreeCursor& cursor) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const auto field = ts_tree_cursor_current_field_id(&cursor);
    const auto kind = static_cast<std::uint16_t>(std::min<std::size_t>(ts_node_symbol(node), kinds_.size() - 1));
    if ((!ts_node_is_named(node) && field == 0) || kinds_[kind] == "comment") return false;
    if (open_.size() >= kMaxDepth || syntax_.nodes_.size() >= kMaxNodes) {
      syntax_.left_out_ = open_.size() >= kMaxDepth ? "was read without what is nested deeper than 200 levels"
                                                    : "was read up to its first million parts only";
      return false;
    }
    const TSPoint start = ts_node_start_point(node);
    const auto index = static_cast<std::uint32_t>(syntax_.nodes_.size());
    syntax_.nodes_.push_back({kind, field, ts_node_start_byte(node), ts_node_end_byte(node), start.row + 1,
                              start.column + 1, ts_node_end_point(node).row + 1, open_.empty() ? 0 : open_.back(), 0});
    if (last_closed_ != 0) syntax_.nodes_[last_closed_].next = index;
    last_closed_ = 0;
    open_.push_back(index);
    return true;
  }
  void leave() {
    last_closed_ = open_.back();
    open_.pop_back();
  }

  Syntax& syntax_;
  const std::span<const std::string_view> kinds_ = kind_names();
  std::vector<std::uint32_t> open_;
  std::uint32_t last_closed_ = 0;
};

Syntax::Syntax(std::string text, double cpu_seconds) : text_(std::move(text)) {
  const double begin = thread_seconds();
  const ParseMemory memory;
  if (text_.size() > kMaxBytes) {
    left_out_ = "is larger than 4 MiB and was not read";
  } else if (nests_too_deep(text_)) {
    left_out_ = "nests brackets deeper than 1000 and was not read";
  } else if (const TSTree* tree = parse_text(text_, cpu_seconds)) {
    SyntaxBuilder(*this).build(ts_tree_root_node(tree));
  } else {
    left_out_ = "takes too much work to parse and was not read";
  }
  has_errors_ = has_errors_ || nodes_.empty();
  cpu_seconds_ = thread_seconds() - begin;
}

std::unique_ptr<const Syntax> Syntax::parse(std::string text, double cpu_seconds) {
  return std::unique_ptr<const Syntax>(new Syntax(std::move(text), cpu_seconds));
}

std::string_view Node::text() const {
  return syntax_ == nullptr ? std::string_view() : syntax_->text().substr(begin(), end() - begin());
}

int Node::line() const {
  return syntax_ == nullptr ? 0 : static_cast<int>(syntax_->nodes_[index_].line);
}

int Node::column() const {
  return syntax_ == nullptr ? 0 : static_cast<int>(syntax_->nodes_[index_].column);
}

int Node::end_line() const {
  return syntax_ == nullptr ? 0 : static_cast<int>(syntax_->nodes_[index_].end_line);
}

std::size_t Node::begin() const {
  return syntax_ == nullptr ? 0 : syntax_->nodes_[index_].begin;
}

std::size_t Node::end() const {
  return syntax_ == nullptr ? 0 : syntax_->nodes_[index_].end;
}

Node Node::parent() const {
  return syntax_ == nullptr || index_ == 0 ? Node() : Node(syntax_, syntax_->nodes_[index_].parent);
}

std::size_t Node::child_count() const {
  std::size_t count = 0;
  for (Node node = first_child(); node; node = node.next_sibling()) ++count;
  return count;
}

std::vector<Node> Node::children() const {
  std::vector<Node> out;
  out.reserve(child_count());
  for (Node node = first_child(); node; node = node.next_sibling()) out.push_back(node);
  return out;
}

std::vector<Node> Node::children(GrammarName field_name) const {
  std::vector<Node> out;
  for (Node node = first_child(); node; node = node.next_sibling()) {
    if (node.is_under(field_name)) out.push_back(node);
  }
  return out;
}

}  // namespace fx::knowledge::python
