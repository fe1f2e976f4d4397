// What this rank's collectives did lately: a ring of records in memory, written as JSON in the form of PyTorch's flight
// recorder when a run fails, so that a hang can be told from the ranks' files. Safe to use from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace fx::engine {

struct WorkCall {
  std::string operation;  // all_gather, reduce_scatter, all_reduce, barrier
  std::string label;      // what it was for: "layer 3", "grad norm"
  std::int64_t elements_in = 0, elements_out = 0;
  std::string dtype;
};

class FlightRecorder {
 public:
  static constexpr std::size_t kCapacity = 512;
  explicit FlightRecorder(int rank, std::size_t capacity = kCapacity);

  // A process group; its calls are numbered from 1. Returns its index.
  int add_group(std::string name, std::string backend, std::vector<int> ranks);

  // The life of one call: scheduled -> started (handed to the backend) -> completed (waited for). The ticket names it.
  std::int64_t schedule(int group, WorkCall call);
  void start(std::int64_t ticket);
  void begin_wait();
  void complete(std::int64_t ticket);
  std::int64_t sequence_of(std::int64_t ticket) const;

  // What the rank does beside collectives: "data", "forward layer 3". Shown with how long it has lasted.
  void enter(std::string phase);
  std::string phase() const;

  // Grows with everything recorded: unchanged means that the rank stands still.
  std::int64_t activity() const;
  // Seconds since the rank began to wait for a collective; 0 when it waits for none.
  double waiting_seconds() const;

  // One line a group: the last call enqueued and the last one completed, and what the rank is doing.
  std::vector<std::string> status_lines() const;
  // The whole record as JSON, one entry a line.
  std::string dump(const std::string& reason) const;
  Result<void> write_dump(const std::filesystem::path& file, const std::string& reason) const;

 private:
  enum class State { kScheduled, kStarted, kCompleted };
  struct Record {
    std::int64_t ticket = 0, sequence = 0;
    int group = 0;
    WorkCall call;
    State state = State::kScheduled;
    std::int64_t created_ns = 0, started_ns = 0, completed_ns = 0;
  };
  struct Group {
    std::string name, backend;
    std::vector<int> ranks;
    std::int64_t enqueued = 0, started = 0, completed = 0;
    std::string last_enqueued, last_completed;  // "all_gather, layer 3"
  };
  Record& at(std::int64_t ticket) { return records_[static_cast<std::size_t>(ticket) % records_.size()]; }
  const Record& at(std::int64_t ticket) const { return records_[static_cast<std::size_t>(ticket) % records_.size()]; }
  std::string entry_line(const Record& record) const;

  const int rank_;
  mutable std::mutex mutex_;
  std::vector<Record> records_;  // a ring; ticket t lies at t % size
  std::vector<Group> groups_;
  std::int64_t next_ticket_ = 0;
  std::int64_t activity_ = 0;
  std::int64_t waiting_since_ns_ = 0;  // steady clock; 0: not waiting
  std::string phase_ = "start";
  std::int64_t phase_since_ns_ = 0;  // steady clock
};

}  // namespace fx::engine
