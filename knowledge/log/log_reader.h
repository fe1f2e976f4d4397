// Reads logs as a stream of chunks and keeps what matters: linear time, memory bounded by the limits, whatever the
// input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "knowledge/log/log_book.h"
#include "knowledge/log/recorder_dump.h"

namespace fx::knowledge {

struct LogLimits {
  std::size_t whole_lines = 3000;  // so many lines of a log are kept whatever they say
  std::size_t kept_lines = 40000;  // in all
  std::size_t kept_bytes = std::size_t{12} << 20;
  std::size_t line_bytes = 4096;       // longer lines are cut
  std::size_t hits_per_mark = 500;     // chatty marks (losses, steps) must not use up the room
  std::size_t hits_per_event = 12000;  // what each of thousands of ranks says once: timeouts, status, exits
};

class LogReader {
 public:
  explicit LogReader(const MarkTable& table, LogLimits limits = {});
  // Begins a log. A name such as "rank_3.log" tells the rank of its lines.
  void begin(std::string name);
  void feed(std::string_view chunk);
  // Ends the last log; the reader is used up.
  LogBook finish();

 private:
  void settle();  // the margin, from the beginning of a log
  void take_text(std::string_view text);
  void take_line(std::string_view line);
  void take_segment(std::string_view segment);
  bool find_marks(std::string_view segment);  // true: chatter
  bool wanted(std::string_view segment, bool marked);
  void keep(std::string_view segment, bool chatter);
  void end_log();
  void read_dump(std::string_view line);
  void keep_dump();

  const MarkTable& table_;
  LogLimits limits_;
  LogBook book_;
  std::string early_;   // the beginning of a log, until it has told its margin
  std::string margin_;  // what every line of this log starts with
  bool settled_ = false;
  std::string unwrapped_;
  std::string pending_;  // an unfinished line
  std::string cleaned_;
  std::vector<std::size_t> hit_limits_;  // one a mark
  std::vector<bool> speaks_in_chatter_;  // one a mark
  std::uint32_t chatter_ = 0;            // the mark
  RecorderDump dump_;
  bool maybe_dump_ = false;  // the log began as JSON does and may still turn out to be a dump
  bool begun_ = false;       // a line with text was seen
  int number_ = 0;
  int log_rank_ = -1;
  int spawned_rank_ = -1;  // whose error torch.multiprocessing reports from here on
  int follow_ = 0;         // so many more lines are kept because of the one before
  std::size_t kept_bytes_ = 0;
  std::vector<std::uint32_t> found_;
  std::unordered_map<std::string, int> streams_;
  std::unordered_map<std::string, int> rank_of_actor_;
};

}  // namespace fx::knowledge
