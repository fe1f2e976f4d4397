#include "knowledge/edit/cursor.h"
#include "knowledge/edit/entry.h"

namespace fx::knowledge {
namespace {

// "[table]": the position may be the bracket or the name behind it.
std::optional<Entry> table_header(std::string_view text, std::size_t at, std::string_view name) {
  const std::size_t start = line_begin(text, at);
  const std::size_t bracket = skip_blanks(text, start);
  if (bracket >= text.size() || text[bracket] != '[' || text.substr(bracket, 2) == "[[") return std::nullopt;
  const std::size_t close = text.find(']', bracket);
  if (close == std::string_view::npos || close > line_end(text, bracket)) return std::nullopt;
  const std::size_t begin = skip_blanks(text, bracket + 1), end = back_over_blanks(text, close);
  if (text.substr(begin, end - begin) != name) return std::nullopt;
  Entry entry;
  entry.form = Entry::Form::kTomlTable;
  entry.key = {begin, end};
  entry.value = {close + 1, close + 1};
  entry.whole = {start, after_line(text, close)};
  entry.starts_line = true;
  entry.settable = entry.removable = false;
  return entry;
}

std::optional<std::size_t> value_end(std::string_view text, std::size_t begin, bool is_inline) {
  const char first = text[begin];
  if (text.substr(begin, 3) == "\"\"\"" || text.substr(begin, 3) == "'''") return std::nullopt;
  if (first == '"' || first == '\'') return skip_quoted(text, begin);
  if (first == '[' || first == '{') return skip_brackets(text, begin);
  return back_over_blanks(text, std::min(text.find_first_of(is_inline ? ",}#\r\n" : "#\r\n", begin), text.size()));
}

}  // namespace

std::optional<Entry> toml_entry(std::string_view text, std::size_t at, std::string_view name) {
  if (auto header = table_header(text, at, name)) return header;
  if (text.substr(at, name.size()) != name) return std::nullopt;
  Entry entry;
  entry.key = {at, at + name.size()};
  const std::size_t equals = skip_blanks(text, entry.key.end);
  if (equals >= text.size() || text[equals] != '=') return std::nullopt;
  const std::size_t begin = skip_blanks(text, equals + 1);
  if (begin >= line_end(text, equals)) return std::nullopt;
  const std::size_t start = line_begin(text, at), before = back_over_blanks(text, at);
  const bool is_inline = before > start && (text[before - 1] == '{' || text[before - 1] == ',');
  if (!is_inline && before != start) return std::nullopt;  // a dotted key
  const auto end = value_end(text, begin, is_inline);
  if (!end) return std::nullopt;
  entry.value = {begin, *end};
  if (is_inline) {
    entry.form = Entry::Form::kTomlInline;
    entry.whole = member_range(text, {at, *end});
    return entry;
  }
  const std::size_t rest = skip_blanks(text, *end);
  if (rest < line_end(text, rest) && text[rest] != '#') return std::nullopt;
  entry.form = Entry::Form::kTomlLine;
  entry.starts_line = true;
  entry.indent = std::string(text.substr(start, at - start));
  entry.whole = {start, after_line(text, *end)};
  return entry;
}

}  // namespace fx::knowledge
