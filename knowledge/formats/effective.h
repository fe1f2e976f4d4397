// The run that a file really describes, in one vocabulary for every format. What a format leaves open stays empty.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

struct Effective {
  std::optional<long long> world_size, nodes, processes_per_node;
  std::string strategy;  // fsdp1, fsdp2, hsdp, ddp, zero1, zero2, zero3, none
  std::optional<bool> reshard_after_forward;
  std::vector<std::pair<std::string, long long>> mesh;  // dp_replicate, dp_shard, tp, cp, pp, ep: those above 1
  std::string precision;                                // bf16, fp16, fp8, fp32
  std::optional<bool> cpu_offload, activation_checkpointing;
  std::string state_dict;  // full, sharded, local
  std::string wrap;        // class names, "size", "none", "default" (_no_split_modules)
  std::optional<long long> micro_batch, grad_accum, global_batch, seq_len;
};

Effective effective_run(const Input& input);

}  // namespace fx::knowledge
