// Resident memory of one process of our own engine on CPU. What the system counts, so libraries and the heap's kept
// blocks too.
#pragma once

#include "knowledge/plan/memory.h"

namespace fx::knowledge::plan {

// allocated, reserved and nvidia_smi are all the process's largest resident memory: there is no device allocator.
MemoryPlan plan_engine_memory(const ModelShape& shape, const ParamCount& count, const Setting& setting,
                              const Machine& machine);

}  // namespace fx::knowledge::plan
