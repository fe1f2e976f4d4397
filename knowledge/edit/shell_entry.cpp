// Words of a shell script, in commands, arrays and quoted strings alike.
#include <algorithm>

#include "knowledge/edit/cursor.h"
#include "knowledge/edit/entry.h"

namespace fx::knowledge {
namespace {

struct Word {
  std::size_t end = 0;
  std::string text;       // without quotes and backslashes
  bool expanded = false;  // holds $... or `...`, kept as written
};

bool ends_word(char c) {
  return std::string_view(" \t\r\n;&|()<>").find(c) != std::string_view::npos;
}

// "$(...)", "${...}", "$((...))", "$NAME" or "`...`" at the cursor.
std::optional<std::size_t> skip_expansion(std::string_view text, std::size_t at) {
  if (text[at] == '`') {
    const auto end = text.find('`', at + 1);
    return end == std::string_view::npos ? std::nullopt : std::optional<std::size_t>(end + 1);
  }
  const char open = at + 1 < text.size() ? text[at + 1] : '\0';
  if (open != '(' && open != '{') return at + 1;
  const char close = open == '(' ? ')' : '}';
  int depth = 0;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i + 1;
  }
  return std::nullopt;
}

// One word. outer: the quote of the string around it, which ends it too; '\0' for none.
std::optional<Word> read_word(std::string_view text, std::size_t at, char outer) {
  Word word;
  char quote = '\0';
  while (at < text.size()) {
    const char c = text[at];
    if (quote == '\0' && (ends_word(c) || c == outer)) break;
    if (quote != '\'' && (c == '$' || c == '`')) {
      const auto end = skip_expansion(text, at);
      if (!end) return std::nullopt;
      word.text += text.substr(at, *end - at);
      word.expanded = true;
      at = *end;
      continue;
    }
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (at + 1 >= text.size() || text[at + 1] == '\n' || text[at + 1] == '\r') break;
      word.text += text[++at];
    } else {
      if (c == '\n') return std::nullopt;
      word.text += c;
    }
    ++at;
  }
  if (quote != '\0') return std::nullopt;
  word.end = at;
  return word;
}

// The next word's start: over blanks, continuation lines and, inside an array, line ends.
std::size_t next_word(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (text[at] == ' ' || text[at] == '\t') {
      ++at;
    } else if (text[at] == '\\' && skip_blanks(text, at + 1) >= line_end(text, at + 1)) {
      at = after_line(text, at);
    } else {
      break;
    }
  }
  return at;
}

// A word inside a quoted string ends at that quote too. The text before tells which reading fits the value.
std::optional<std::size_t> value_end(std::string_view text, std::size_t at, const std::optional<std::string>& value) {
  for (const char outer : {'\0', '"', '\''}) {
    std::string joined;
    std::size_t place = at, end = at;
    while (true) {
      const auto word = read_word(text, place, outer);
      if (!word || word->end == place) break;
      end = word->end;
      joined += (joined.empty() ? "" : " ") + word->text;
      if (!value || word->expanded || joined == *value) return end;
      if (joined.size() >= value->size()) break;
      place = next_word(text, end);
      if (place == end) break;
    }
  }
  return std::nullopt;
}

bool ends_with_backslash(std::string_view text, std::size_t from, std::size_t to) {
  to = back_over_blanks(text, to);
  return to > from && text[to - 1] == '\\';
}

// What goes with the words [begin, end) of a command: their line, with the backslash that continues it, or that of the
// line before.
Span words_range(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t start = line_begin(text, begin), stop = line_end(text, end);
  const bool first = only_blanks(text.substr(start, begin - start));
  const auto rest = text.substr(end, stop - end);
  const bool continued = ends_with_backslash(text, end, stop);
  const bool last = only_blanks(rest) || (continued && only_blanks(rest.substr(0, rest.rfind('\\'))));
  if (first && last) {
    const std::size_t before = start == 0 ? 0 : line_end(text, line_begin(text, start - 1));
    const bool was_continued = start > 0 && ends_with_backslash(text, line_begin(text, before), before);
    if (continued || !was_continued) return {start, after_line(text, end)};
    const std::size_t backslash = back_over_blanks(text, before) - 1;
    return {back_over_blanks(text, backslash), end};
  }
  if (first) return {begin, skip_blanks(text, end)};
  return {back_over_blanks(text, begin), end};
}

}  // namespace

std::optional<Entry> flag_entry(std::string_view text, std::size_t at, std::string_view name,
                                const std::optional<std::string>& value) {
  if (text.substr(at, name.size()) != name) return std::nullopt;
  Entry entry;
  entry.form = Entry::Form::kFlag;
  const auto dashes = std::min(name.find_first_not_of('-'), name.size());
  entry.key = {at + dashes, at + name.size()};
  const std::size_t after = entry.key.end;
  if (after < text.size() && text[after] == '=') {
    const auto end = value_end(text, after + 1, value);
    if (!end && !(value && value->empty())) return std::nullopt;
    entry.value = {after + 1, end.value_or(after + 1)};
  } else {
    const std::size_t begin = next_word(text, after);
    const bool words = begin > after && begin < text.size() && text[begin] != '-' && !ends_word(text[begin]);
    const auto end = words && (!value || !value->empty()) ? value_end(text, begin, value) : std::nullopt;
    entry.value = end ? Span{begin, *end} : Span{after, after};
    if (!end) entry.lead = " ";
  }
  entry.whole = words_range(text, at, entry.value.end);
  return entry;
}

std::optional<Entry> override_entry(std::string_view text, std::size_t at, std::string_view name) {
  std::size_t begin = at;
  while (begin < text.size() && (text[begin] == '+' || text[begin] == '~')) ++begin;
  if (text.substr(begin, name.size()) != name) return std::nullopt;
  Entry entry;
  entry.form = Entry::Form::kOverride;
  entry.key = {begin, begin + name.size()};
  const std::size_t equals = skip_blanks(text, entry.key.end);
  if (equals >= text.size() || text[equals] != '=') return std::nullopt;
  const auto end = value_end(text, equals + 1, std::nullopt);
  entry.value = {equals + 1, end.value_or(equals + 1)};
  entry.whole = words_range(text, at, entry.value.end);
  return entry;
}

std::optional<Entry> assignment_entry(std::string_view text, std::size_t at, std::string_view name) {
  if (text.substr(at, name.size()) != name) return std::nullopt;
  Entry entry;
  entry.form = Entry::Form::kAssignment;
  entry.key = {at, at + name.size()};
  if (entry.key.end >= text.size() || text[entry.key.end] != '=') return std::nullopt;
  const std::size_t begin = entry.key.end + 1;
  if (begin < text.size() && text[begin] == '(') return std::nullopt;
  const auto end = value_end(text, begin, std::nullopt);
  entry.value = {begin, end.value_or(begin)};
  const std::size_t start = line_begin(text, at);
  const auto front = text.substr(start, at - start);
  const std::size_t blanks = std::min(front.find_first_not_of(" \t"), front.size());
  const bool exported = front.substr(blanks) == "export ";
  const std::size_t stop = line_end(text, entry.value.end);
  const bool alone = only_blanks(text.substr(entry.value.end, stop - entry.value.end));
  entry.starts_line = alone && (exported || only_blanks(front));
  entry.indent = std::string(front);
  const std::size_t next = skip_blanks(text, entry.value.end);
  entry.whole = entry.starts_line ? Span{start, after_line(text, entry.value.end)} : Span{at, next};
  entry.removable = entry.starts_line || (next > entry.value.end && next < stop && text[next] != '\\' &&
                                          text[next] != '#' && text[next] != ';' && text[next] != '&');
  return entry;
}

std::optional<Entry> directive_entry(std::string_view text, std::size_t at, std::string_view name) {
  const std::size_t start = line_begin(text, at), stop = line_end(text, at);
  const auto line = text.substr(start, stop - start);
  const auto found = line.find(name);
  if (line.substr(0, 7) != "#SBATCH" || found == std::string_view::npos) return std::nullopt;
  Entry entry;
  entry.form = Entry::Form::kDirective;
  entry.key = {start + found, start + found + name.size()};
  entry.starts_line = true;
  std::size_t begin = entry.key.end;
  begin = begin < stop && text[begin] == '=' ? begin + 1 : skip_blanks(text, begin);
  const std::size_t end = std::min(std::min(text.find_first_of(" \t", begin), stop), text.size());
  entry.value = {begin, end};
  entry.settable = begin > entry.key.end && end > begin;
  const bool single = line.find('-') == found && only_blanks(text.substr(end, stop - end));
  entry.removable = single;
  entry.whole = {start, after_line(text, at)};
  return entry;
}

}  // namespace fx::knowledge
