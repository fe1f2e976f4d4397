// YAML: block mappings line by line, flow mappings like JSON.
#include "knowledge/edit/cursor.h"
#include "knowledge/edit/entry.h"

namespace fx::knowledge {
namespace {

// Where the key ends (before its blanks and ":"), or nullopt when the text is not this key.
std::optional<std::size_t> key_end(std::string_view text, std::size_t at, std::string_view name, Span& key) {
  if (at >= text.size()) return std::nullopt;
  if (text[at] == '"' || text[at] == '\'') {
    const auto end = skip_quoted(text, at, true);
    if (!end) return std::nullopt;
    key = {at + 1, *end - 1};
    return text.substr(key.begin, key.end - key.begin) == name ? end : std::nullopt;
  }
  key = {at, at + name.size()};
  return text.substr(at, name.size()) == name ? std::optional<std::size_t>(key.end) : std::nullopt;
}

struct Block {
  std::size_t content_end = 0;  // of the last line that belongs to the entry
  bool more_lines = false;
};

// The lines below that belong to an entry whose key stands at this indent.
Block lines_below(std::string_view text, std::size_t value_begin, std::size_t indent, bool value_on_line) {
  Block block{line_end(text, value_begin), false};
  for (std::size_t at = after_line(text, value_begin); at < text.size(); at = after_line(text, at)) {
    const std::size_t first = skip_blanks(text, at);
    const std::size_t end = line_end(text, at);
    if (first >= end || text[first] == '#') continue;
    const bool item =
        !value_on_line && first - at == indent && text[first] == '-' && (first + 1 == end || text[first + 1] == ' ');
    if (first - at <= indent && !item) break;
    block = {end, true};
  }
  return block;
}

std::size_t plain_end(std::string_view text, std::size_t at) {
  const std::size_t end = line_end(text, at);
  std::size_t stop = at;
  while (stop < end && !(text[stop] == '#' && (text[stop - 1] == ' ' || text[stop - 1] == '\t'))) ++stop;
  return back_over_blanks(text, stop);
}

bool only_comment(std::string_view text, std::size_t at) {
  const std::size_t first = skip_blanks(text, at), end = line_end(text, at);
  return first >= end || (text[first] == '#' && first > at);
}

// Sets value and whether it can be replaced; the value stands at `at`, on the key's line.
bool block_value(std::string_view text, std::size_t at, std::size_t indent, Entry& entry) {
  const bool empty = only_comment(text, at) || skip_blanks(text, at) >= line_end(text, at);
  const std::size_t begin = skip_blanks(text, at);
  const char first = empty ? '\0' : text[begin];
  const Block block = lines_below(text, begin, indent, !empty);
  std::size_t whole_end = block.content_end;
  if (empty) {
    entry.lead = " ";
    entry.value = {at, block.more_lines ? block.content_end : at};
    entry.settable = text.substr(at, entry.value.end - at).find('#') == std::string_view::npos;
  } else if (first == '"' || first == '\'') {
    const auto end = skip_quoted(text, begin, true);
    if (!end || !only_comment(text, *end)) return false;
    entry.value = {begin, *end};
  } else if (first == '[' || first == '{') {
    const auto end = skip_brackets(text, begin);
    if (!end || !only_comment(text, *end)) return false;
    entry.value = {begin, *end};
    whole_end = line_end(text, *end);
  } else {
    entry.value = {begin, plain_end(text, begin)};
    entry.settable = !block.more_lines && std::string_view("|>&*!%@`").find(first) == std::string_view::npos;
    entry.removable = entry.removable && first != '&';
    if (text[entry.value.end - 1] == ',') return false;  // a flow mapping over several lines
  }
  const std::size_t start = line_begin(text, entry.key.begin);
  entry.whole = {start, after_line(text, whole_end)};
  const auto inside = text.substr(start, whole_end - start);
  if (inside.find(" &") != std::string_view::npos) entry.removable = false;
  return true;
}

bool flow_value(std::string_view text, std::size_t at, std::size_t key_begin, Entry& entry) {
  const std::size_t begin = skip_blanks(text, at);
  std::optional<std::size_t> end = begin;
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) {
    end = skip_quoted(text, begin, true);
  } else if (begin < text.size() && (text[begin] == '[' || text[begin] == '{')) {
    end = skip_brackets(text, begin);
  } else {
    while (*end < text.size() && std::string_view(",}]\n#&*").find(text[*end]) == std::string_view::npos) ++*end;
    end = back_over_blanks(text, *end);
  }
  if (!end || *end < begin) return false;
  const std::size_t next = skip_blanks(text, *end);
  if (next >= text.size() || (text[next] != ',' && text[next] != '}')) return false;
  entry.value = {begin, *end};
  entry.whole = member_range(text, {key_begin, *end});
  return true;
}

}  // namespace

std::optional<Entry> yaml_entry(std::string_view text, std::size_t at, std::string_view name) {
  Entry entry;
  const auto end = key_end(text, at, name, entry.key);
  if (!end) return std::nullopt;
  const std::size_t colon = skip_blanks(text, *end);
  if (colon >= text.size() || text[colon] != ':') return std::nullopt;
  const std::size_t start = line_begin(text, at);
  const std::size_t before = back_over_blanks(text, at);
  if (before > start && (text[before - 1] == '{' || text[before - 1] == ',')) {
    entry.form = Entry::Form::kYamlFlow;
    return flow_value(text, colon + 1, at, entry) ? std::optional<Entry>(entry) : std::nullopt;
  }
  const auto front = text.substr(start, at - start);
  if (front.find_first_not_of(" -") != std::string_view::npos) return std::nullopt;
  entry.starts_line = true;
  entry.indent = std::string(at - start, ' ');
  entry.removable = front.find('-') == std::string_view::npos;  // the first key of a list item carries its dash
  return block_value(text, colon + 1, at - start, entry) ? std::optional<Entry>(entry) : std::nullopt;
}

}  // namespace fx::knowledge
