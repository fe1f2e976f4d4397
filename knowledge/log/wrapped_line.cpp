#include "knowledge/log/wrapped_line.h"

#include <algorithm>

#include "knowledge/log/timestamp.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kTellingLines = 40;

// The code of "u001b" at pos, -1 when these are not four hexadecimal digits.
int code_at(std::string_view text, std::size_t pos) {
  int code = 0;
  for (std::size_t i = pos; i < pos + 4; ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

// Reads a JSON string from behind its opening quote into out, up to and with the closing one; npos without an end.
std::size_t read_string(std::string_view text, std::size_t pos, std::string& out) {
  for (; pos < text.size() && text[pos] != '"'; ++pos) {
    if (text[pos] != '\\' || pos + 1 >= text.size()) {
      out += text[pos];
      continue;
    }
    const char c = text[++pos];
    if (c == 'u') {
      const int code = code_at(text, pos + 1);
      if (code < 0) return std::string_view::npos;
      // Docker writes only control characters and "<", ">", "&" like this.
      out += code < 0x80 ? static_cast<char>(code) : '?';
      pos += 4;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return pos < text.size() ? pos + 1 : std::string_view::npos;
}

// The string behind a key at or behind pos.
std::size_t read_value(std::string_view line, std::size_t pos, std::string_view key, std::string& out) {
  const auto at = line.find(key, pos);
  const auto quote = at == std::string_view::npos ? at : line.find_first_not_of(' ', at + key.size());
  if (quote == std::string_view::npos || line[quote] != '"') return std::string_view::npos;
  return read_string(line, quote + 1, out);
}

// {"log":"text\n","stream":"stderr","time":"2026-11-30T10:00:00.1Z"}
bool unwrap_docker(std::string_view line, std::string& out) {
  if (line.front() != '{') return false;
  std::string text;
  const auto end = read_value(line, 1, "\"log\":", text);
  if (end == std::string_view::npos || line.find("\"stream\":", end) == std::string_view::npos) return false;
  out.clear();
  if (read_value(line, end, "\"time\":", out) != std::string_view::npos) out += ' ';
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  out += text;
  return true;
}

// 2026-11-30T10:00:00.123456789Z stderr F text
bool unwrap_cri(std::string_view line, std::string& out) {
  const auto blank = line.find(' ');
  if (blank == std::string_view::npos || blank > 40 || line[0] < '0' || line[0] > '9') return false;
  const std::string_view rest = line.substr(blank);
  for (const std::string_view tag : {" stderr F ", " stdout F ", " stderr P ", " stdout P "}) {
    if (rest.substr(0, tag.size()) != tag || !read_timestamp(line)) continue;
    out = line.substr(0, blank + 1);
    out += rest.substr(tag.size());
    return true;
  }
  return false;
}

}  // namespace

std::string_view common_margin(std::string_view beginning) {
  std::string_view margin;
  std::size_t lines = 0;
  while (!beginning.empty() && lines < kTellingLines) {
    const auto end = beginning.find('\n');
    const std::string_view line = beginning.substr(0, end);
    beginning.remove_prefix(end == std::string_view::npos ? beginning.size() : end + 1);
    if (line.find_first_not_of(" \t>|\r") == std::string_view::npos) continue;
    if (lines++ == 0) {
      margin = line.substr(0, std::min(line.size(), line.find_first_not_of(" \t>|")));
      continue;
    }
    const auto differs = std::mismatch(margin.begin(), margin.end(), line.begin(), line.end()).first;
    margin = margin.substr(0, static_cast<std::size_t>(differs - margin.begin()));
  }
  return lines < 3 ? std::string_view{} : margin;
}

std::string_view unwrap_line(std::string_view line, std::string& storage) {
  if (line.empty()) return line;
  return unwrap_docker(line, storage) || unwrap_cri(line, storage) ? std::string_view(storage) : line;
}

}  // namespace fx::knowledge
