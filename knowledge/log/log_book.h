// What is kept of the logs: the lines that matter, with their heads and marks. Plain data plus queries; built by
// LogReader.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/log/line_head.h"
#include "knowledge/log/mark.h"
#include "knowledge/log/recorder_dump.h"

namespace fx::knowledge {

struct LogLine {
  int log = 0;       // index into LogBook::logs
  int number = 0;    // 1-based
  std::string text;  // ANSI colours removed, at most kMaxLineBytes
  std::string low;   // the same in lower case
  LineHead head;
  int rank = -1;         // global rank as far as the line, its actor's other lines or the log's name tell
  int stream = 0;        // lines of one writer share a stream
  bool chatter = false;  // see chatter.h

  std::string_view body() const { return std::string_view(text).substr(head.body); }
  std::string_view low_body() const { return std::string_view(low).substr(head.body); }
};

// A log that is a flight-recorder dump.
struct DumpedLog {
  int log = 0;
  int rank = -1;
  std::vector<RecorderEntry> entries;
  std::vector<RecorderStatus> statuses;
};

// The lines that carry one mark, in order. count also counts those that were not kept.
struct Hits {
  std::vector<int> lines;    // indices into LogBook::lines
  std::vector<int> telling;  // the same, each wording's first line before the repeats
  long count = 0;
  explicit operator bool() const { return !lines.empty(); }
  int first() const { return lines.front(); }
  int last() const { return lines.back(); }
};

class LogBook {
 public:
  std::vector<std::string> logs;  // their names, in order
  std::vector<LogLine> lines;     // in order of log and number
  std::vector<Hits> hits;         // one a mark
  std::vector<long> line_counts;  // one a log
  std::vector<DumpedLog> dumps;
  const MarkTable* table = nullptr;

  const LogLine& at(int index) const { return lines[static_cast<std::size_t>(index)]; }
  const Hits& find(std::string_view group, std::string_view name) const { return hits[table->index(group, name)]; }
  // Ranks named by the given lines (those without a rank do not count).
  std::set<int> ranks_of(const std::vector<int>& indices) const;
  bool is_dump(int log) const;
  // Index of the kept line with this number, or of the last one before it; -1 when none is kept.
  int at_number(int log, int number) const;
  // True when line a was written before line b: by their times where they stand in different logs that tell them (a
  // line without a time has that of the last one above it), else by their places.
  bool earlier(int a, int b) const;
  // Index of the line directly below or above, -1 when it was not kept or there is none.
  int below(int index) const;
  int above(int index) const;
  // True when some kept line that is no chatter matches the pattern (see Mark); for rare questions only: it walks over
  // all kept lines.
  bool mentions(std::string_view pattern) const;
  std::vector<int> lines_matching(std::string_view pattern, std::size_t limit = 64) const;
};

}  // namespace fx::knowledge
