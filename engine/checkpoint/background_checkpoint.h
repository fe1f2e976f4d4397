// Checkpoints that are written while training goes on: the state is copied, a thread of each rank writes its part of
// the copy, and the folder is committed after a later step, when every rank has said that its part is on disk. Until
// then it does not count, whatever happens.
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "engine/checkpoint/state_file.h"

namespace fx::engine {

struct SavedCheckpoint {
  long long step = 0;
  std::filesystem::path folder;
  double stall_seconds = 0;  // that training stood still
  double write_seconds = 0;  // in the background, on this rank
  std::int64_t bytes = 0;
};

// All members are collective, called by the training thread of every rank in the same order. An error of one rank is an
// error on all, naming the rank.
class BackgroundCheckpoint {
 public:
  // All must outlive it. keep as in save_checkpoint().
  BackgroundCheckpoint(std::filesystem::path root, long long keep, Groups& groups, AdamW& optimizer, Mesh& mesh);
  ~BackgroundCheckpoint();  // waits for the thread; what is not committed stays without its marker
  BackgroundCheckpoint(const BackgroundCheckpoint&) = delete;
  BackgroundCheckpoint& operator=(const BackgroundCheckpoint&) = delete;

  // Copies the state after `step` and begins to write it. One must not be under way: finish() it first.
  Result<void> start(long long step);
  // After each step: the checkpoint, once all ranks have written it.
  Result<std::optional<SavedCheckpoint>> after_step();
  // Waits for the one that is under way, if any.
  Result<std::optional<SavedCheckpoint>> finish();

 private:
  void write();
  const std::filesystem::path root_;
  const long long keep_;
  Groups& groups_;
  AdamW& optimizer_;
  Mesh& mesh_;
  SafetensorsHeader header_;
  StateTensors copy_;
  std::optional<SavedCheckpoint> under_way_;
  Result<void> written_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace fx::engine
