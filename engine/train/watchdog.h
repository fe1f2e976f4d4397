// Watches one rank from a thread of its own, because a rank that hangs cannot report itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "engine/comm/flight_recorder.h"

namespace fx::engine {

// Writes the rank's flight record and says where it stands, when
// - it was asked to end and has recorded nothing since for a second (the launcher ends all ranks after one failed), or
// - it has waited for one collective for longer than the backend's own timeout allows: then the process ends, too.
// The recorder and stop must outlive it.
class Watchdog {
 public:
  Watchdog(const FlightRecorder& recorder, const std::atomic<bool>& stop, std::filesystem::path dump_file,
           double timeout_s);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The rank has failed: writes the record and the status lines, once, from the caller's thread.
  void report(const std::string& reason);

 private:
  void watch();
  const FlightRecorder& recorder_;
  const std::atomic<bool>& stop_;
  const std::filesystem::path dump_file_;
  const double timeout_s_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::atomic<bool> reported_{false};
  std::thread thread_;
};

}  // namespace fx::engine
