// YAML through yaml-cpp's events, so that anchors are copied under our own limit and every key keeps its line.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include "base/text.h"
#include "knowledge/config/node.h"

namespace fx::knowledge {
namespace {

struct TooMuch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::size_t count_nodes(const Node& node) {
  std::size_t n = 1;
  for (const Node& child : node.children) n += count_nodes(child);
  return n;
}

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(Document& out) : out_(out) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    place(std::move(node), mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    Node node;
    if (found != anchors_.end()) {
      nodes_ += count_nodes(found->second);
      check();
      node = found->second;
    }
    place(std::move(node), mark, YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.text = value;
    node.quoted = tag == "!";
    node.kind = tag == "?" || tag.empty() ? yaml_kind(value) : Node::Kind::kString;
    if (tag == "tag:yaml.org,2002:bool") node.kind = Node::Kind::kBool;
    place(std::move(node), mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    bool has_key = false;
    std::string key;
    int key_line = 0, key_column = 0;
    std::unordered_map<std::string, int> seen;  // key -> first line
  };

  void check() const {
    if (nodes_ > kMaxNodes)
      throw TooMuch("more than " + std::to_string(kMaxNodes) + " values after anchors are expanded");
    if (stack_.size() > kMaxDepth) throw TooMuch("nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    Open frame;
    frame.node.kind = kind;
    frame.node.line = mark.line + 1;
    frame.node.column = mark.column + 1;
    frame.anchor = anchor;
    stack_.push_back(std::move(frame));
    check();
  }

  void close() {
    Open frame = std::move(stack_.back());
    stack_.pop_back();
    YAML::Mark mark;
    mark.line = frame.node.line - 1;
    mark.column = frame.node.column - 1;
    place(std::move(frame.node), mark, frame.anchor);
  }

  void place(Node node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    ++nodes_;
    check();
    if (anchor != YAML::NullAnchor) {
      nodes_ += count_nodes(node);
      check();
      anchors_[anchor] = node;
    }
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    if (stack_.empty()) {
      out_.root = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.is_list()) {
      parent.node.children.push_back(std::move(node));
      return;
    }
    if (!parent.has_key) {
      parent.has_key = true;
      parent.key = node.text;
      parent.key_line = node.line;
      parent.key_column = node.column;
      return;
    }
    parent.has_key = false;
    add_member(parent, std::move(node));
  }

  void add_member(Open& parent, Node node) {
    if (parent.key == "<<") {
      merge(parent, node);
      return;
    }
    node.name = parent.key;
    node.line = parent.key_line;
    node.column = parent.key_column;
    const auto [first, fresh] = parent.seen.emplace(node.name, node.line);
    if (!fresh) duplicates_.push_back({first->second, node.line, node.column});
    parent.node.children.push_back(std::move(node));
  }

  // Merged keys stand in front, so that find() lets the mapping's own keys win.
  static void merge(Open& parent, const Node& source) {
    const auto take = [&](const Node& map) {
      parent.node.children.insert(parent.node.children.begin(), map.children.begin(), map.children.end());
    };
    if (source.is_map()) take(source);
    if (source.is_list()) {
      for (const Node& item : source.children) {
        if (item.is_map()) take(item);
      }
    }
  }

 public:
  struct RawDuplicate {
    int first_line, line, column;
  };
  std::vector<RawDuplicate> duplicates_;

 private:
  Document& out_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
};

void name_paths(Node& node, const std::string& path, const std::vector<Builder::RawDuplicate>& raw, Document& out) {
  node.shown = path;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Node& child = node.children[i];
    name_paths(child, node.is_list() ? path + "[" + std::to_string(i) + "]" : join_path(path, child.name), raw, out);
    for (const auto& d : raw) {
      if (node.is_map() && d.line == child.line && d.column == child.column) {
        out.duplicates.push_back({child.shown, d.first_line, d.line, d.column});
      }
    }
  }
}

// The value of "key: value" or "- value" on a line; npos when there is none.
std::size_t value_of_line(std::string_view line) {
  std::size_t at = line.find_first_not_of(' ');
  while (at != std::string_view::npos && line.substr(at, 2) == "- ") at = line.find_first_not_of(' ', at + 2);
  if (at == std::string_view::npos || line[at] == '"' || line[at] == '\'') return at;
  const auto colon = line.find(": ", at);
  if (line[at] == '#' || colon == std::string_view::npos) return std::string_view::npos;
  return line.find_first_not_of(' ', colon + 2);
}

// Behind the quote that closes the one at begin; npos when none does.
std::size_t closing_quote(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return i + 1;
      ++i;
    }
  }
  return std::string_view::npos;
}

// yaml-cpp ends an open quote where a line is indented less; PyYAML reads on to the next quote or to the end.
std::optional<SyntaxError> open_quote(std::string_view text) {
  int number = 0;
  std::size_t block = std::string_view::npos;  // indentation of the key that opened a block text
  for (std::size_t at = 0; at < text.size();) {
    ++number;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::size_t indent = line.find_first_not_of(" \t\r");
    const std::size_t begin = at;
    at = end + 1;
    if (indent == std::string_view::npos) continue;
    if (block != std::string_view::npos && indent > block) continue;
    block = std::string_view::npos;
    const std::size_t value = value_of_line(line);
    if (value == std::string_view::npos) continue;
    if (line[value] == '|' || line[value] == '>') block = indent;
    if (line[value] != '"' && line[value] != '\'') continue;
    const std::size_t close = closing_quote(text, begin + value);
    if (close != std::string_view::npos && close <= end) continue;
    const std::size_t stop = std::min(close, text.size());
    const int last = number + static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                                          text.begin() + static_cast<std::ptrdiff_t>(stop), '\n'));
    const std::size_t next = close == std::string_view::npos ? close : text.find_first_not_of(" \t\r", close);
    const bool fine =
        close != std::string_view::npos &&
        (next == std::string_view::npos || std::string_view("\n#,]}:").find(text[next]) != std::string_view::npos);
    if (!fine)
      return SyntaxError{"the quoted text that begins on line " + std::to_string(number) + " is not closed", last, 1};
    at = std::min(text.find('\n', close), text.size()) + 1;
    number = last;
  }
  return std::nullopt;
}

}  // namespace

Document read_yaml(std::string_view text) {
  Document out;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    Builder builder(out);
    parser.HandleNextDocument(builder);
    if (builder.duplicates_.size() > 100) builder.duplicates_.resize(100);
    name_paths(out.root, "", builder.duplicates_, out);
    out.error = open_quote(text);
    if (out.error) out.root = {};
  } catch (const YAML::Exception& e) {
    out.root = {};
    out.error = SyntaxError{e.msg, std::max(1, e.mark.line + 1), std::max(1, e.mark.column + 1)};
  } catch (const TooMuch& e) {
    out.root = {};
    out.error = SyntaxError{e.what(), 1, 1};
  }
  return out;
}

int tab_indented_line(std::string_view text) {
  int line = 0;
  int block_indent = -1;  // inside a "|" or ">" block while lines are indented deeper
  for (const auto raw : split_lines(text)) {
    ++line;
    const std::size_t begin = raw.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    const auto indent =
        static_cast<int>(raw.substr(0, begin).find('\t') == std::string_view::npos ? begin : raw.find('\t'));
    if (block_indent >= 0 && indent > block_indent) continue;
    block_indent = -1;
    if (raw.substr(0, begin).find('\t') != std::string_view::npos && raw[begin] != '#') return line;
    const std::string_view end = trim(raw);
    if (!end.empty() &&
        (end.back() == '|' || end.back() == '>' || end.substr(end.size() > 2 ? end.size() - 2 : 0) == "|-" ||
         end.substr(end.size() > 2 ? end.size() - 2 : 0) == ">-")) {
      block_indent = static_cast<int>(begin);
    }
  }
  return 0;
}

}  // namespace fx::knowledge
