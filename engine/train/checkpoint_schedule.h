// When a run saves checkpoints, how, and what it says about them.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/checkpoint/background_checkpoint.h"
#include "engine/train/reporter.h"
#include "spec/run_spec.h"

namespace fx::engine {

// All members are collective. Every rank gets the error of any of them.
class CheckpointSchedule {
 public:
  // All must outlive it.
  CheckpointSchedule(const RunSpec& spec, Groups& groups, AdamW& optimizer, Mesh& mesh, const Reporter& reporter);

  // After each step: saves when it is due or the run is stopping, and reports what has been committed since.
  Result<void> after_step(long long steps_done, bool stopping);
  // At the end of the run, whether it succeeded or not: nothing is under way any more.
  Result<void> finish();

 private:
  Result<void> save(long long step);
  Result<void> report(const Result<std::optional<SavedCheckpoint>>& saved);
  const CheckpointSpec& spec_;
  const std::filesystem::path root_;
  Groups& groups_;
  AdamW& optimizer_;
  Mesh& mesh_;
  const Reporter& reporter_;
  std::optional<BackgroundCheckpoint> background_;
};

}  // namespace fx::engine
