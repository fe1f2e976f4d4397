// name=value among the arguments of a Python call.
#include "knowledge/edit/cursor.h"
#include "knowledge/edit/entry.h"

namespace fx::knowledge {

std::optional<Entry> keyword_entry(std::string_view text, std::size_t at, std::string_view name) {
  if (text.substr(at, name.size()) != name) return std::nullopt;
  Entry entry;
  entry.form = Entry::Form::kKeyword;
  entry.key = {at, at + name.size()};
  const std::size_t equals = skip_blanks(text, entry.key.end);
  if (equals >= text.size() || text[equals] != '=' || text.substr(equals, 2) == "==") return std::nullopt;
  const std::size_t begin = skip_blanks(text, equals + 1);
  if (begin >= text.size()) return std::nullopt;
  std::optional<std::size_t> end;
  if (text.substr(begin, 3) == "\"\"\"" || text.substr(begin, 3) == "'''") return std::nullopt;
  if (text[begin] == '"' || text[begin] == '\'') {
    end = skip_quoted(text, begin);
  } else {
    end = back_over_blanks(text, std::min(text.find_first_of(",)([{#\r\n", begin), text.size()));
  }
  if (!end || *end == begin) return std::nullopt;
  const std::size_t next = skip_blanks(text, *end);
  if (next < line_end(text, next) && std::string_view(",)#").find(text[next]) == std::string_view::npos)
    return std::nullopt;
  entry.value = {begin, *end};
  const std::size_t start = line_begin(text, at);
  entry.starts_line = only_blanks(text.substr(start, at - start));
  if (entry.starts_line) entry.indent = std::string(text.substr(start, at - start));
  entry.whole = member_range(text, {at, *end});
  return entry;
}

}  // namespace fx::knowledge
