#include "base/text.h"
#include "knowledge/formats/axolotl/axolotl.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

using V = AxolotlView;

// A strategy that is not in force is more than dead text: its page says what to write.
Changes dropped(const Input&, const Hit& hit) {
  return hit.severity == Severity::kWarning ? Changes{} : remove_at(place_of(hit));
}

Changes drop_prefix(const Input& input, const Hit&) {
  Changes changes;
  const Node* block = V(input).block;
  if (block == nullptr) return changes;
  for (const Node& child : block->children) {
    if (child.name.rfind("fsdp_", 0) != 0 || child.name == "fsdp_version") continue;
    if (block->find(child.name.substr(5)) != nullptr) return {};
    changes.push_back(rename_at(place_of(child), child.name.substr(5)).front());
  }
  return changes;
}

Changes drop_list(const Input& input, const Hit& hit) {
  return V(input).block != nullptr ? remove_at(place_of(hit)) : Changes{};
}

Changes reshard_bool(const Input& input, const Hit& hit) {
  const std::string value = to_lower(text_of(node_at(input, place_of(hit))));
  if (value == "full_shard" || value == "hybrid_shard") return set_at(place_of(hit), "true");
  return value == "shard_grad_op" ? set_at(place_of(hit), "false") : Changes{};
}

Changes one_string(const Input& input, const Hit& hit) {
  const auto words = words_of(node_at(input, place_of(hit)));
  return words.empty() ? Changes{} : set_at(place_of(hit), join(words, ","));
}

Changes state_dict(const Input& input, const Hit& hit) {
  const std::string value = text_of(node_at(input, place_of(hit)));
  if (starts_with_ignoring_case(value, "full")) return set_at(place_of(hit), "FULL_STATE_DICT");
  return starts_with_ignoring_case(value, "shard") ? set_at(place_of(hit), "SHARDED_STATE_DICT") : Changes{};
}

Changes min_params(const Input&, const Hit& hit) {
  const std::string prefix = contains(hit.key, ".fsdp_") ? "fsdp_" : "";
  return put_near(place_of(hit), "fsdp_config." + prefix + "min_num_params", "100000000");
}

// FSDP2 for a file that has FSDP on already; DeepSpeed beside it is another question.
Changes version_two(const Input& input, const Hit& hit) {
  const V view(input);
  if (view.block == nullptr || is_set(view.top("deepspeed"))) return {};
  return put_near(place_of(hit), "fsdp_version", "2");
}

// dp_shard_size takes what the other sizes leave.
Changes fill_shard(const Input& input, const Hit&) {
  const V view(input);
  const auto world = input.context.world_size();
  const Node* shard = view.top("dp_shard_size");
  long long rest = 1;
  for (const char* name : {"tensor_parallel_size", "context_parallel_size", "dp_replicate_size"}) {
    const long long size = integer_of(view.top(name)).value_or(1);
    if (size <= 0 || size > 100000) return {};
    rest *= size;
  }
  if (!world || shard == nullptr || *world % rest != 0 || *world < rest) return {};
  return set_at(place_of(*shard), std::to_string(*world / rest));
}

}  // namespace

Fixes axolotl_fixes() {
  return {
      {"axolotl-dropped-fsdp1-key", dropped},
      {"axolotl-fsdp-prefix-deprecated", drop_prefix},
      {"axolotl-fsdp-list-deprecated", drop_list},
      {"axolotl-reshard-not-bool", reshard_bool},
      {"axolotl-wrap-class-list", one_string},
      {"axolotl-state-dict-type-invalid", state_dict},
      {"axolotl-size-wrap-needs-min-num-params", min_params},
      {"axolotl-mxfp4-ram-efficient", remove_it()},
      {"axolotl-fsdp2-8bit-optimizer", set_it("adamw_torch_8bit")},
      {"axolotl-fsdp1-offload-8bit-optimizer", set_it("adamw_torch_fused")},
      {"axolotl-muon-needs-fsdp2", version_two},
      {"axolotl-fp8-allgather-needs-fsdp2", version_two},
      {"axolotl-fp32-norms-needs-fsdp2", version_two},
      {"axolotl-parallel-world-mismatch", fill_shard},
      {"axolotl-cp-needs-flash-attention", put_it("attn_implementation", "flash_attention_2")},
      {"axolotl-cp-packing-micro-batch", set_it("1")},
      {"axolotl-tp-8bit-optimizer", set_it("adamw_torch_fused")},
  };
}

}  // namespace fx::knowledge
