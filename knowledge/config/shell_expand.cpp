// Words: quotes and expansions.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "knowledge/config/shell_lexer.h"

namespace fx::knowledge {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool ends_word(char c) {
  return c == '\0' || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' ||
         c == '<' || c == '>';
}

}  // namespace

void ShellLexer::push_text(ShellWord& word, char c, std::uint32_t offset) {
  if (budget_ == 0) {
    out_.complete = false;
    return;
  }
  --budget_;
  word.text += c;
  word.offsets.push_back(offset);
}

void ShellLexer::push_unresolved(ShellWord& word, const std::string& name, const std::string& shown,
                                 std::uint32_t offset) {
  for (const char c : shown) push_text(word, c, offset);
  word.unresolved.push_back({name, source_->in_task && early_.count(offset) == 0});
  if (!source_->in_task) early_.insert(offset);
}

// Fields of the word at the cursor; more than one when an expansion is split at blanks.
std::vector<ShellWord> ShellLexer::read_words(bool splitting) {
  std::vector<ShellWord> fields(1);
  place(fields.back(), offset());
  const std::size_t begin = at_;
  bool quoted = false;
  while (at_ < source_->text.size()) {
    const char c = peek();
    if (c == '\'' || (c == '$' && peek(1) == '\'')) {
      at_ += c == '$' ? 2 : 1;
      quoted = true;
      while (at_ < source_->text.size() && peek() != '\'') {
        push_text(fields.back(), peek(), offset());
        ++at_;
      }
      ++at_;
    } else if (c == '"') {
      quoted = true;
      ++at_;
      read_double_quoted(fields, '"');
    } else if (c == '\\') {
      if (peek(1) == '\n') {
        at_ += 2;
        continue;
      }
      ++at_;
      if (at_ < source_->text.size()) {
        push_text(fields.back(), peek(), offset());
        ++at_;
      }
    } else if (c == '$') {
      read_dollar(fields, false, splitting);
    } else if (c == '`') {
      read_substitution(fields, '`', '`', "$(...)");
    } else if (ends_word(c)) {
      break;
    } else {
      push_text(fields.back(), c, offset());
      ++at_;
    }
  }
  if (at_ == begin) ++at_;
  for (auto& field : fields) field.quoted = quoted;
  if (!quoted && fields.size() > 1 && fields.back().text.empty()) fields.pop_back();
  return fields;
}

// To the closing quote, which is stepped over; end '\0': to the end of the text, where quotes mean nothing (a heredoc).
void ShellLexer::read_double_quoted(std::vector<ShellWord>& fields, char end) {
  while (at_ < source_->text.size() && peek() != end) {
    const char c = peek();
    if (c == '\\' && at_ + 1 < source_->text.size()) {
      const char n = peek(1);
      if (n == '\n') {
        at_ += 2;
        continue;
      }
      if (n != '\\' && n != '$' && n != '`' && (n != '"' || end == '\0')) push_text(fields.back(), c, offset());
      ++at_;
      push_text(fields.back(), n, offset());
      ++at_;
    } else if (c == '$') {
      read_dollar(fields, true, false);
    } else if (c == '`') {
      read_substitution(fields, '`', '`', "$(...)");
    } else {
      push_text(fields.back(), c, offset());
      ++at_;
    }
  }
  ++at_;
}

void ShellLexer::read_dollar(std::vector<ShellWord>& fields, bool quoted, bool splitting) {
  const std::uint32_t begin = offset();
  if (source_->in_task && early_.count(begin) != 0) {  // expanded by the outer shell already
    std::string name;
    ++at_;
    while (at_ < source_->text.size() && is_name_char(peek())) name += source_->text[at_++];
    constexpr std::string_view kShown = "(...)";  // a command's output, as push_unresolved() shows it
    const bool command = name.empty() && std::string_view(source_->text).substr(at_, kShown.size()) == kShown;
    if (command) at_ += kShown.size();
    push_unresolved(fields.back(), name.empty() ? "$(" : name, command ? "$(...)" : "$" + name, begin);
    return;
  }
  if (peek(1) == '(' && peek(2) == '(') return read_arithmetic(fields);
  if (peek(1) == '(') {
    ++at_;
    return read_substitution(fields, '(', ')', "$(...)");
  }
  if (peek(1) == '{') return read_brace(fields, quoted, splitting);
  std::string name;
  ++at_;
  if (at_ < source_->text.size() && (is_name_char(peek()) || peek() == '@' || peek() == '*' || peek() == '#' ||
                                     peek() == '?' || peek() == '$' || peek() == '!')) {
    const bool special = !is_name_char(peek()) || std::isdigit(static_cast<unsigned char>(peek())) != 0;
    name += source_->text[at_++];
    while (!special && at_ < source_->text.size() && is_name_char(peek())) name += source_->text[at_++];
  }
  if (name.empty()) return push_text(fields.back(), '$', begin);
  expand(fields, name, "", false, quoted, splitting, begin);
}

// ${NAME}, ${NAME:-word}, ${NAME[@]}, ${NAME:?text}; other forms stay unresolved.
void ShellLexer::read_brace(std::vector<ShellWord>& fields, bool quoted, bool splitting) {
  const std::uint32_t begin = offset();
  at_ += 2;
  std::string body;
  for (int depth = 1; at_ < source_->text.size(); ++at_) {
    if (peek() == '{') ++depth;
    if (peek() == '}' && --depth == 0) break;
    body += peek();
  }
  ++at_;
  std::size_t end = 0;
  while (end < body.size() && is_name_char(body[end])) ++end;
  const std::string name = body.substr(0, end), rest = body.substr(end);
  if (rest.empty()) return expand(fields, name, "", false, quoted, splitting, begin);
  if (rest == "[@]" || rest == "[*]") {
    const auto found = variables_.find(name);
    if (found != variables_.end() && found->second.is_array) return push_array(fields, found->second.items, begin);
    return push_unresolved(fields.back(), name, "$" + name, begin);
  }
  const bool fallback = rest.rfind(":-", 0) == 0 || rest.rfind(":=", 0) == 0 || rest[0] == '-' || rest[0] == '=';
  if (fallback) {
    std::string word = rest.substr(rest[0] == ':' ? 2 : 1);
    if (word.size() >= 2 && (word.front() == '"' || word.front() == '\'') && word.back() == word.front()) {
      word = word.substr(1, word.size() - 2);
    }
    return expand(fields, name, word, true, quoted, splitting, begin);
  }
  push_unresolved(fields.back(), name, "$" + name, begin);
}

void ShellLexer::expand(std::vector<ShellWord>& fields, const std::string& name, const std::string& fallback,
                        bool has_fallback, bool quoted, bool splitting, std::uint32_t offset) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    // A default that is itself an expansion is out of reach.
    if (has_fallback && fallback.find('$') == std::string::npos && fallback.find('`') == std::string::npos) {
      for (const char c : fallback) push_text(fields.back(), c, offset);
      return;
    }
    return push_unresolved(fields.back(), name, "$" + name, offset);
  }
  const ShellWord value =
      found->second.is_array && !found->second.items.empty() ? found->second.items.front() : found->second.value;
  const std::size_t first = fields.size() - 1;
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    const bool blank = value.text[i] == ' ' || value.text[i] == '\t' || value.text[i] == '\n';
    const std::uint32_t place_of = i < value.offsets.size() && value.line > 0 ? value.offsets[i] : offset;
    if (blank && splitting && !quoted) {
      if (!fields.back().text.empty()) fields.emplace_back();
      continue;
    }
    if (fields.back().text.empty() && fields.size() > 1) place(fields.back(), place_of);
    push_text(fields.back(), value.text[i], place_of);
  }
  for (const auto& unresolved : value.unresolved) {
    const std::string shown = unresolved.name == "$(" ? unresolved.name : "$" + unresolved.name;
    bool placed = false;  // in the fields that show it
    for (std::size_t i = first; i < fields.size(); ++i) {
      if (!contains(fields[i].text, shown)) continue;
      fields[i].unresolved.push_back(unresolved);
      placed = true;
    }
    if (!placed) fields.back().unresolved.push_back(unresolved);
  }
  // The first field of an unquoted command variable stands where its text was written.
  if (splitting && !quoted && !fields.front().offsets.empty()) place(fields.front(), fields.front().offsets.front());
}

void ShellLexer::push_array(std::vector<ShellWord>& fields, const std::vector<ShellWord>& items, std::uint32_t) {
  for (std::size_t i = 0; i < items.size() && budget_ > 0; ++i) {
    if (i > 0 || !fields.back().text.empty()) fields.emplace_back();
    budget_ -= std::min(budget_, items[i].text.size() + 1);
    fields.back() = items[i];
  }
}

// $( ... ) and `...`: skipped with its quotes; only the running shell knows the result.
void ShellLexer::read_substitution(std::vector<ShellWord>& fields, char open, char close, std::string_view shown) {
  const std::uint32_t begin = offset();
  ++at_;
  int depth = 1;
  bool single = false, twice = false;
  for (; at_ < source_->text.size(); ++at_) {
    const char c = peek();
    if (c == '\\') {
      ++at_;
    } else if (c == '\'' && !twice) {
      single = !single;
    } else if (c == '"' && !single) {
      twice = !twice;
    } else if (!single && c == close && --depth == 0) {
      break;
    } else if (!single && c == open && open != close) {
      ++depth;
    }
  }
  ++at_;
  push_unresolved(fields.back(), "$(", std::string(shown), begin);
}

void ShellLexer::read_arithmetic(std::vector<ShellWord>& fields) {
  const std::uint32_t begin = offset();
  at_ += 3;
  std::string body;
  for (int depth = 2; at_ < source_->text.size(); ++at_) {
    if (peek() == '(') ++depth;
    if (peek() == ')' && --depth == 0) break;
    body += peek();
  }
  ++at_;
  if (!body.empty() && body.back() == ')') body.pop_back();
  const auto value = evaluate(body);
  if (!value) return push_unresolved(fields.back(), "$((", "$((" + body + "))", begin);
  for (const char c : std::to_string(*value)) push_text(fields.back(), c, begin);
}

}  // namespace fx::knowledge
