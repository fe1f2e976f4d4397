#include "engine/checkpoint/background_checkpoint.h"

#include <ATen/ops/tensor.h>

#include <stdexcept>
#include <utility>

#include "base/clock.h"

namespace fx::engine {
namespace {

double seconds_since(std::int64_t millis) {
  return static_cast<double>(monotonic_millis() - millis) / 1000;
}

}  // namespace

BackgroundCheckpoint::BackgroundCheckpoint(std::filesystem::path root, long long keep, Groups& groups, AdamW& optimizer,
                                           Mesh& mesh)
    : root_(std::move(root)),
      keep_(keep),
      groups_(groups),
      optimizer_(optimizer),
      mesh_(mesh),
      header_(plan_state(groups)) {}

BackgroundCheckpoint::~BackgroundCheckpoint() {
  if (thread_.joinable()) thread_.join();
}

Result<void> BackgroundCheckpoint::start(long long step) {
  if (under_way_) throw std::logic_error("a checkpoint is still under way");
  const std::int64_t began = monotonic_millis();
  Collectives& comm = mesh_.world();
  const auto folder = checkpoint_folder(root_, step);
  Result<void> mine;
  if (comm.rank() == 0) mine = begin_checkpoint(folder, header_);
  if (auto all = agree(comm, "creating the checkpoint", mine); !all) return all;
  const StateTensors state = state_of(groups_, optimizer_);
  copy_.resize(state.size());
  for (std::size_t g = 0; g < state.size(); ++g) {
    for (std::size_t part = 0; part < state[g].size(); ++part) {
      if (!state[g][part].defined()) continue;
      if (copy_[g][part].defined()) {  // kept from save to save: fresh memory would cost more than the copy
        copy_[g][part].copy_(state[g][part]);
      } else {
        copy_[g][part] = state[g][part].to(at::kCPU, at::kFloat, false, true);
      }
    }
  }
  under_way_ = SavedCheckpoint{step, folder, 0, 0, bytes_of(header_)};
  ended_ = false;
  thread_ = std::thread([this] { write(); });
  under_way_->stall_seconds = seconds_since(began);
  return {};
}

void BackgroundCheckpoint::write() {
  const std::int64_t began = monotonic_millis();
  written_ = {};
  try {
    if (mesh_.replica() == 0) written_ = write_state(under_way_->folder, header_, groups_, copy_);  // copies are equal
  } catch (const std::exception& error) {
    written_ = internal_error(error.what());
  }
  under_way_->write_seconds = seconds_since(began);
  ended_ = true;
}

Result<std::optional<SavedCheckpoint>> BackgroundCheckpoint::after_step() {
  if (!under_way_) return std::optional<SavedCheckpoint>();
  const bool ended = ended_.load();
  at::Tensor ranks = at::tensor({ended ? 0.0 : 1.0, ended && !written_ ? 1.0 : 0.0}, at::kDouble);  // writing, failed
  mesh_.world().all_reduce_sum("checkpoint under way", ranks);
  const double* count = ranks.const_data_ptr<double>();
  if (count[0] > 0 && count[1] == 0) return std::optional<SavedCheckpoint>();
  return finish();
}

Result<std::optional<SavedCheckpoint>> BackgroundCheckpoint::finish() {
  if (!under_way_) return std::optional<SavedCheckpoint>();
  const std::int64_t began = monotonic_millis();
  thread_.join();
  auto saved = *std::exchange(under_way_, std::nullopt);
  Collectives& comm = mesh_.world();
  if (auto all = agree(comm, "writing the checkpoint", written_); !all) return all.error();
  Result<void> mine;
  if (comm.rank() == 0) mine = commit_checkpoint(root_, saved.step, keep_);
  if (auto all = agree(comm, "committing the checkpoint", mine); !all) return all.error();
  saved.stall_seconds += seconds_since(began);
  return std::optional<SavedCheckpoint>(std::move(saved));
}

}  // namespace fx::engine
