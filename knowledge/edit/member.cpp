#include "knowledge/edit/cursor.h"
#include "knowledge/edit/entry.h"

namespace fx::knowledge {

void set_member_value(std::string_view text, std::size_t at, Span value, Entry& entry) {
  const std::size_t start = line_begin(text, at);
  entry.value = value;
  entry.starts_line = only_blanks(text.substr(start, at - start));
  if (entry.starts_line) entry.indent = std::string(text.substr(start, at - start));
  entry.whole = member_range(text, {at, value.end});
}

}  // namespace fx::knowledge
