#include "knowledge/edit/cursor.h"
#include "knowledge/edit/entry.h"

namespace fx::knowledge {

std::optional<Entry> json_entry(std::string_view text, std::size_t at, std::string_view name) {
  if (at >= text.size() || text[at] != '"') return std::nullopt;
  const auto key_end = skip_quoted(text, at);
  if (!key_end) return std::nullopt;
  Entry entry;
  entry.form = Entry::Form::kJson;
  entry.key = {at + 1, *key_end - 1};
  if (text.substr(entry.key.begin, entry.key.end - entry.key.begin) != name) return std::nullopt;
  const std::size_t colon = text.find_first_not_of(" \t\r\n", *key_end);
  if (colon == std::string_view::npos || text[colon] != ':') return std::nullopt;
  const std::size_t begin = text.find_first_not_of(" \t\r\n", colon + 1);
  if (begin == std::string_view::npos) return std::nullopt;
  std::optional<std::size_t> end;
  if (text[begin] == '"') {
    end = skip_quoted(text, begin);
  } else if (text[begin] == '{' || text[begin] == '[') {
    end = skip_brackets(text, begin);
  } else {
    end = std::min(text.find_first_of(" \t\r\n,]}", begin), text.size());
  }
  if (!end) return std::nullopt;
  set_member_value(text, at, {begin, *end}, entry);
  return entry;
}

}  // namespace fx::knowledge
