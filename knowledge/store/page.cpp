#include "knowledge/store/page.h"

#include <cctype>

#include "base/text.h"

namespace fx::knowledge {
namespace {

Error at_line(std::size_t line, const std::string& what) {
  return invalid_argument("line " + std::to_string(line), what);
}

// "```yaml bad line=3 context={"gpus":8}": a value runs to the next blank outside braces and quotes.
Example parse_fence(std::string_view text, int line) {
  Example example;
  example.line = line;
  std::vector<std::string> words(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '{' || c == '[')) ++depth;
    if (!quoted && (c == '}' || c == ']')) --depth;
    if (c == ' ' && depth == 0 && !quoted) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (i == 0) {
      example.language = words[i];
    } else if (equals != std::string::npos) {
      example.expect[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    } else if (example.kind.empty()) {
      example.kind = words[i];
    } else {
      example.expect[words[i]] = "";
    }
  }
  return example;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(split(text, '\n')) {}

  Result<Page> run() {
    if (auto front = read_front_matter(); !front) return front.error();
    std::string heading;
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_];
      if (line.substr(0, 3) == "```") {
        if (auto example = read_example(); !example) return example.error();
        continue;
      }
      if (line.substr(0, 3) == "## ") {
        heading = to_lower(trim(line.substr(3)));
      } else if (!heading.empty()) {
        page_.sections[heading] += std::string(line) + "\n";
      }
      ++at_;
    }
    for (auto& [name, text] : page_.sections) text = std::string(trim(text));
    return std::move(page_);
  }

 private:
  Result<void> read_front_matter() {
    if (lines_.empty() || trim(lines_[0]) != "---") return at_line(1, "a page starts with front matter (---)");
    for (at_ = 1; at_ < lines_.size() && trim(lines_[at_]) != "---"; ++at_) {
      const auto colon = lines_[at_].find(':');
      if (trim(lines_[at_]).empty()) continue;
      if (colon == std::string_view::npos) return at_line(at_ + 1, "front matter lines are \"key: value\"");
      page_.front[std::string(trim(lines_[at_].substr(0, colon)))] = std::string(trim(lines_[at_].substr(colon + 1)));
    }
    if (at_ == lines_.size()) return at_line(at_, "the front matter is not closed (---)");
    ++at_;
    page_.id = page_.front["id"];
    page_.title = page_.front["title"];
    if (page_.id.empty()) return at_line(1, "the front matter has no id");
    for (const auto source : split(page_.front["sources"], ';')) {
      if (!trim(source).empty()) page_.sources.emplace_back(trim(source));
    }
    return {};
  }

  Result<void> read_example() {
    Example example = parse_fence(trim(lines_[at_].substr(3)), static_cast<int>(at_) + 1);
    const std::size_t begin = ++at_;
    while (at_ < lines_.size() && trim(lines_[at_]) != "```") example.text += std::string(lines_[at_++]) + "\n";
    if (at_ == lines_.size()) return at_line(begin, "the fenced example is not closed");
    ++at_;
    page_.examples.push_back(std::move(example));
    return {};
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  Page page_;
};

}  // namespace

std::string Page::section(const std::string& name) const {
  const auto found = sections.find(name);
  return found == sections.end() ? "" : found->second;
}

Result<Page> parse_page(std::string_view text) {
  return Parser(text).run();
}

Page find_page(std::span<const EmbeddedFile> files, std::string_view id) {
  const std::string name = std::string(id) + ".md";
  for (const EmbeddedFile& file : files) {
    if (file.path != name && !file.path.ends_with("/" + name)) continue;
    if (auto page = parse_page(file.text)) return std::move(page.value());
  }
  Page empty;
  empty.id = std::string(id);
  return empty;
}

std::string one_line(std::string_view section) {
  std::string out;
  for (const char c : section) {
    if (c != '\n') {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  return std::string(trim(out));
}

std::vector<std::string> list_items(const std::string& section) {
  std::vector<std::string> items;
  for (const auto raw : split_lines(section)) {
    std::string_view line = trim(raw);
    if (line.empty()) continue;
    std::size_t mark = line.substr(0, 2) == "- " ? 2 : 0;
    if (mark == 0 && std::isdigit(static_cast<unsigned char>(line[0])) != 0) {
      const auto dot = line.find(". ");
      if (dot != std::string_view::npos && dot <= 2) mark = dot + 2;
    }
    if (mark > 0 || items.empty()) {
      items.emplace_back(trim(line.substr(mark)));
    } else {
      items.back() += " " + std::string(line);
    }
  }
  return items;
}

}  // namespace fx::knowledge
