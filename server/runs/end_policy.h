// When a supervisor ends its ranks: a pure function of what it has seen, so that every case can be tested.
#pragma once

#include <cstdint>
#include <optional>

namespace fx::server {

struct EndTimes {
  std::int64_t report_ms = 3'000;   // after a rank died: time for the others to say what they saw
  std::int64_t term_ms = 2'000;     // then from SIGTERM to SIGKILL
  std::int64_t stop_ms = 600'000;   // after a stop request: time to write a checkpoint
  std::int64_t leave_ms = 600'000;  // after a rank left with success: time for the others to do the same
};

// Times are of one monotonic clock, in milliseconds.
struct RanksSeen {
  int running = 0;
  std::optional<std::int64_t> first_death = {};    // a rank ended with a signal or a non-zero exit code
  std::optional<std::int64_t> first_leaving = {};  // a rank ended with exit code 0
  std::optional<std::int64_t> stop_asked = {};
  bool term_sent = false;  // to the ranks that still run
  bool kill_sent = false;
};

enum class EndAction { kWait, kTerminate, kKill, kDone };
EndAction next_action(const RanksSeen& seen, std::int64_t now, const EndTimes& times = {});

}  // namespace fx::server
