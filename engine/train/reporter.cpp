#include "engine/train/reporter.h"

#include <cstdio>

#include "base/clock.h"
#include "base/file.h"

namespace fx::engine {

Reporter::Reporter(std::filesystem::path events_file, int rank) : events_file_(std::move(events_file)), rank_(rank) {}

long long Reporter::now() {
  return unix_millis();
}

void Reporter::write(const Event& event) const {
  if (rank_ != 0) return;
  const std::string line = to_event_line(event);
  if (auto wrote = append_file(events_file_, line); !wrote)
    std::fprintf(stderr, "%s\n", to_line(wrote.error()).c_str());
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

void Reporter::error(ErrorEvent error) const {
  error.rank = rank_;
  const std::string line = to_event_line(Event{now(), std::move(error)});
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  if (!events_file_.empty()) (void)append_file(events_file_, line).has_value();
}

}  // namespace fx::engine
