#include "engine/train/checkpoint_schedule.h"

#include "base/clock.h"

namespace fx::engine {

CheckpointSchedule::CheckpointSchedule(const RunSpec& spec, Groups& groups, AdamW& optimizer, Mesh& mesh,
                                       const Reporter& reporter)
    : spec_(spec.checkpoint),
      root_(checkpoint_root(spec.output)),
      groups_(groups),
      optimizer_(optimizer),
      mesh_(mesh),
      reporter_(reporter) {
  if (spec_.async) background_.emplace(root_, spec_.keep, groups_, optimizer_, mesh_);
}

Result<void> CheckpointSchedule::after_step(long long steps_done, bool stopping) {
  if (background_) {
    mesh_.world().recorder().enter("checkpoint");
    if (auto reported = report(background_->after_step()); !reported) return reported;
  }
  const bool due = spec_.every > 0 && steps_done % spec_.every == 0;
  return due || stopping ? save(steps_done) : Result<void>();
}

Result<void> CheckpointSchedule::save(long long step) {
  mesh_.world().recorder().enter("checkpoint");
  if (background_) {
    if (auto finished = finish(); !finished) return finished;
    return background_->start(step);
  }
  const std::int64_t began = monotonic_millis();
  auto bytes = save_checkpoint(root_, step, spec_.keep, groups_, optimizer_, mesh_);
  if (!bytes) return bytes.error();
  reporter_.report(CheckpointEvent{step, newest_checkpoint(root_)->folder.string(),
                                   static_cast<double>(monotonic_millis() - began) / 1000, *bytes, 0});
  return {};
}

Result<void> CheckpointSchedule::finish() {
  return background_ ? report(background_->finish()) : Result<void>();
}

Result<void> CheckpointSchedule::report(const Result<std::optional<SavedCheckpoint>>& saved) {
  if (!saved) return saved.error();
  if (!*saved) return {};
  const SavedCheckpoint& one = **saved;
  reporter_.report(CheckpointEvent{one.step, one.folder.string(), one.stall_seconds, one.bytes, one.write_seconds});
  return {};
}

}  // namespace fx::engine
