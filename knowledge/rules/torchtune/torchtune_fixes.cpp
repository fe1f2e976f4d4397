#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

Changes no_clipping(const Input& input, const Hit&) {
  const Node* clip = input.root().find("clip_grad_norm");
  return clip != nullptr ? set_at(place_of(*clip), "null") : Changes{};
}

Changes fill_shard(const Input& input, const Hit& hit) {
  const auto world = input.context.world_size();
  long long rest = 1;
  for (const char* name : {"tensor_parallel_dim", "data_parallel_replicate_dim", "context_parallel_dim"}) {
    const long long size = integer_of(input.root().find(name)).value_or(1);
    if (size <= 0 || size > 100000) return {};
    rest *= size;
  }
  return world && *world % rest == 0 ? put_near(place_of(hit), "data_parallel_shard_dim", "-1") : Changes{};
}

}  // namespace

Fixes torchtune_fixes() {
  return {
      {"torchtune-fp16", set_it("bf16")},
      {"torchtune-optim-in-bwd-clip", no_clipping},
      {"torchtune-activation-offload-needs-ac", put_it("enable_activation_checkpointing", "true")},
      {"torchtune-parallel-dims-mismatch", fill_shard},
      {"torchtune-tp-activation-offload-streams", put_it("activation_offloading_use_streams", "false")},
      {"torchtune-fsdp-offload-unfused", set_it("true")},
  };
}

}  // namespace fx::knowledge
