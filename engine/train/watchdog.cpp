#include "engine/train/watchdog.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"

namespace fx::engine {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPause{100};
constexpr int kStillPauses = 10;
// The backend's own timeout comes first and says more; this one is for a backend whose timeout does not come.
constexpr double kLate = 1.1, kLateSeconds = 5;

}  // namespace

Watchdog::Watchdog(const FlightRecorder& recorder, const std::atomic<bool>& stop, std::filesystem::path dump_file,
                   double timeout_s)
    : recorder_(recorder), stop_(stop), dump_file_(std::move(dump_file)), timeout_s_(timeout_s), thread_([this] {
        watch();
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watchdog::report(const std::string& reason) {
  if (reported_.exchange(true)) return;
  const auto written = recorder_.write_dump(dump_file_, reason);
  for (const auto& line : recorder_.status_lines()) std::fprintf(stderr, "%s\n", line.c_str());
  const std::string outcome = written ? "flight record: " + dump_file_.string() : to_line(written.error());
  std::fprintf(stderr, "fsdp-engine: %s; %s\n", reason.c_str(), outcome.c_str());
  std::fflush(stderr);
}

void Watchdog::watch() {
  std::int64_t seen = recorder_.activity();
  int still = 0;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kPause, [this] { return done_; })) {
    const std::int64_t now = recorder_.activity();
    still = stop_.load() && now == seen ? still + 1 : 0;
    seen = now;
    if (still == kStillPauses) report("asked to end, but standing still in \"" + recorder_.phase() + "\"");
    if (recorder_.waiting_seconds() > timeout_s_ * kLate + kLateSeconds) {
      report("no collective came to its end within the timeout, and the backend did not say so");
      std::_Exit(info(ErrorCode::kUnavailable).exit_code);
    }
  }
}

}  // namespace fx::engine
