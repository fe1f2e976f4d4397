#include "knowledge/edit/cursor.h"

#include <algorithm>

namespace fx::knowledge {

std::size_t line_begin(std::string_view text, std::size_t at) {
  const auto before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return begin == 0 && text.substr(0, 3) == "\xEF\xBB\xBF" ? std::min<std::size_t>(3, at) : begin;
}

std::size_t line_end(std::string_view text, std::size_t at) {
  std::size_t end = std::min(text.find('\n', at), text.size());
  if (end > at && text[end - 1] == '\r') --end;
  return end;
}

std::size_t after_line(std::string_view text, std::size_t at) {
  const auto end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

std::size_t back_over_blanks(std::string_view text, std::size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) --at;
  return at;
}

bool only_blanks(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::optional<std::size_t> skip_quoted(std::string_view text, std::size_t at, bool doubled) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      if (!doubled || quote == '"' || at + 1 >= text.size() || text[at + 1] != quote) return at + 1;
      ++at;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> skip_brackets(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      const auto end = skip_quoted(text, at, true);
      if (!end) return std::nullopt;
      at = *end;
      continue;
    }
    if (c == '#' && at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t' || text[at - 1] == '\n')) {
      at = line_end(text, at);
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    ++at;
    if ((c == ']' || c == '}') && --depth == 0) return at;
  }
  return std::nullopt;
}

Span member_range(std::string_view text, Span member) {
  const std::size_t start = line_begin(text, member.begin);
  const bool starts_line = only_blanks(text.substr(start, member.begin - start));
  const std::size_t after = skip_blanks(text, member.end);
  if (after < text.size() && text[after] == ',') {
    const std::size_t rest = skip_blanks(text, after + 1);
    if (starts_line && rest >= line_end(text, rest)) return {start, after_line(text, rest)};
    return {member.begin, rest};
  }
  std::size_t before = text.find_last_not_of(" \t\r\n", member.begin == 0 ? 0 : member.begin - 1);
  if (before != std::string_view::npos && before < member.begin && text[before] == ',') return {before, member.end};
  return member;
}

}  // namespace fx::knowledge
