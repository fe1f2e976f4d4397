#include "knowledge/log/exception_events.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace fx::knowledge {
namespace {

bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// "torch.OutOfMemoryError" at the start of a line's own text; empty when it is no exception line.
std::string_view exception_name(std::string_view body) {
  std::size_t end = 0;
  while (end < body.size() && name_char(body[end])) ++end;
  if (end == 0 || end > 120) return {};
  const std::string_view name = body.substr(0, end);
  const bool called = end < body.size() && body[end] == '(';
  if (!called && end < body.size() && body[end] != ':') return {};
  if (called && body.find("): ", end) == std::string_view::npos) return {};
  const auto last = name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  if (last == "error" && name.size() > last.size()) return name;  // cv2.error
  if (name == "Error" || name == "ERROR" || name == "Exception") return name == "Exception" ? name : std::string_view{};
  for (const std::string_view ending :
       {"Error", "Exception", "Interrupt", "SystemExit", "StopIteration", "KilledError", "Timeout"}) {
    if (last.size() >= ending.size() && last.substr(last.size() - ending.size()) == ending) return name;
  }
  return {};
}

// Whatever a traceback ends in: a dotted name whose last part is a class ("pyarrow.lib.ArrowInvalid: ...").
std::string_view raised_name(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && name_char(text[end])) ++end;
  if (end < 8 || end > 120 || text.substr(0, end).find('.') == std::string_view::npos ||
      (end < text.size() && text[end] != ':'))
    return {};
  const std::string_view name = text.substr(0, end);
  const auto last = name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  return last.empty() || last.front() < 'A' || last.front() > 'Z' ? std::string_view{} : name;
}

// Drops "ERROR    | ", "ERROR - ", "| ERROR | module:function:12 - " in front of a message.
std::string_view without_level(std::string_view body) {
  std::string_view rest = body;
  while (!rest.empty() && (rest.front() == '|' || rest.front() == '-' || rest.front() == ' ')) rest.remove_prefix(1);
  for (const std::string_view level : {"ERROR", "CRITICAL", "WARNING", "INFO", "DEBUG"}) {
    if (rest.substr(0, level.size()) != level) continue;
    rest.remove_prefix(level.size());
    const auto sign = rest.find_first_not_of(' ');
    if (sign == std::string_view::npos || (rest[sign] != '|' && rest[sign] != '-')) return body;
    rest.remove_prefix(sign + 1);
    // loguru: where it was logged, then " - "
    const auto place = rest.find(" - ");
    const auto blank = rest.find(' ', 1);
    if (place != std::string_view::npos && blank == place && rest.substr(0, place).find(':') != std::string_view::npos)
      rest.remove_prefix(place + 2);
    if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    return rest;
  }
  return body;
}

// Server loggers put "ERROR 07-09 05:29:15 [file.py:200]" in front of every line: skip to the text.
std::string_view message_part(const LogLine& line) {
  std::string_view body = without_level(line.body());
  for (const std::string_view level : {"ERROR ", "[ERROR] ", "CRITICAL ", "INFO "}) {
    if (body.substr(0, level.size()) != level) continue;
    const auto close = body.find("] ");
    if (close != std::string_view::npos && close < 90) body.remove_prefix(close + 2);
  }
  return body;
}

}  // namespace

const std::vector<Mark>& exception_marks() {
  static const std::vector<Mark> marks{
      {"traceback", "traceback (most recent call last)"},
      {"frame", "file \"*\", line_"},
      {"exception", "error: |exception: |error(|interrupt|error|stopiteration|exception("},
      {"what", "what():|terminate called"},
  };
  return marks;
}

std::vector<ExceptionEvent> read_exceptions(const LogBook& book) {
  std::vector<ExceptionEvent> out;
  std::unordered_map<int, std::vector<int>> open;  // stream -> frames so far
  for (std::size_t i = 0; i < book.lines.size(); ++i) {
    const auto& line = book.lines[i];
    const int index = static_cast<int>(i);
    const std::string_view body = message_part(line);
    auto& frames = open[line.stream];
    if (line.low.find("traceback (most recent call last)") != std::string::npos) {
      frames.clear();
      continue;
    }
    const std::string_view text = trim(body);
    if (text.substr(0, 6) == "File \"") {
      // Some excerpts give the place behind the message.
      const bool behind = !out.empty() && out.back().line == index - 1 && out.back().frames.empty() && frames.empty() &&
                          book.lines[i - 1].stream == line.stream;
      if (behind) {
        out.back().frames.push_back(index);
        continue;
      }
      if (frames.size() < 120) frames.push_back(index);
      continue;
    }
    auto name = exception_name(text);
    const bool traced = std::any_of(frames.begin(), frames.end(), [&](int frame) {
      return trim(message_part(book.at(frame))).substr(0, 6) == "File \"";
    });
    if (name.empty() && traced && body.substr(0, 1) != " ") name = raised_name(text);
    if (!name.empty()) {
      ExceptionEvent event;
      event.line = index;
      event.rank = line.rank;
      event.type = std::string(name);
      event.message = to_lower(text.substr(std::min(name.size(), text.size())).substr(0, 400));
      event.frames = std::move(frames);
      frames = {};
      out.push_back(std::move(event));
    } else if (frames.size() < 120 && (body.substr(0, 4) == "    " ||
                                       (body.substr(0, 2) == "  " && text.find('(') != std::string_view::npos) ||
                                       (!frames.empty() && body.substr(0, 1) == " "))) {
      frames.push_back(index);  // the code line of a frame, whose own line may be cut off
    }
  }
  return out;
}

}  // namespace fx::knowledge
