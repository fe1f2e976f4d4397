// One run on one rank: load, steps, checkpoints, final model. Every rank calls it with the same spec.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/result.h"
#include "engine/comm/collectives.h"
#include "engine/models/model.h"
#include "engine/train/reporter.h"
#include "spec/run_spec.h"

namespace fx::engine {

// What this build cannot do of a valid spec, every point at once. world_size: ranks that were really started; device:
// what they compute on.
Result<void> check_supported(const RunSpec& spec, int world_size, at::Device device);

using ModelFactory = std::function<std::unique_ptr<Model>(const ModelShape&)>;

// stop: set from outside (SIGTERM); the ranks agree on it after a step, write a checkpoint and end without error.
// Throws CollectiveError when a peer is lost.
Result<void> run_training(const RunSpec& spec, Collectives& comm, const Reporter& reporter,
                          const std::atomic<bool>& stop, const ModelFactory& make);

}  // namespace fx::engine
