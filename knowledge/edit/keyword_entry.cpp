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
  set_member_value(text, at, {begin, *end}, entry);
  return entry;
}

}  // namespace fx::knowledge
