// Where tensors and modules live.
#pragma once

#include "knowledge/code/program.h"

namespace fx::knowledge {

// A device argument: true for "cuda", "cuda:1", an index, torch.device("cuda", ...), a value named like one.
bool names_gpu(const code::Object* device);
bool names_cpu_or_meta(const code::Object* device);
// .cuda(), or .to(...) with a GPU.
bool moves_to_gpu(const code::Event& event);
bool is_offload_policy(const code::Object* policy);  // CPUOffloadPolicy(), CPUOffload(offload_params=True), True
// The model of the shard event keeps its parameters in CPU memory.
bool shards_with_offload(const code::Event& shard);

}  // namespace fx::knowledge
