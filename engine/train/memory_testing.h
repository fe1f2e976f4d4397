// Bytes of tensors that ranks hold at most in each phase of a training step, by an allocator that counts. Ranks are
// threads: run_local_ranks().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/train/step.h"
#include "spec/lora_spec.h"

namespace fx::engine::testing {

struct MemoryCase {
  ModelShape shape;
  StepPolicy policy;
  std::optional<LoraSpec> lora;
  std::int64_t tokens = 2;  // of a micro-batch, one document: few, so that activations do not count
  int micro_batches = 1;
  std::function<void(ShardedModel&)> fill;  // weights; none: zeros
};

struct MemoryPeaks {
  double made = 0;  // the sharded model
  double forward = 0, backward = 0, optimizer = 0;
  double after = 0;  // what stays between steps
};

// Of this rank's second step: optimizer states are there, nothing else is new.
MemoryPeaks measure_memory(Collectives& comm, const MemoryCase& what);

}  // namespace fx::engine::testing
