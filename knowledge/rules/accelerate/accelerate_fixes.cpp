#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

using V = AccelerateView;

std::string prefix_of(const std::string& key) {
  return contains(key, "fsdp_config.") && !contains(key, ".fsdp_") ? "" : "fsdp_";
}

// "true" or "false" for a strategy's name; "" for a name that FSDP2 cannot say with that key.
std::string reshard_for(const std::string& strategy) {
  const std::string low = to_lower(strategy);
  if (low == "full_shard" || low == "1") return "true";
  return low == "shard_grad_op" || low == "2" ? "false" : "";
}

Changes unknown_top(const Input&, const Hit& hit) {
  if (hit.key.rfind("fsdp_", 0) == 0) return {{Change::Kind::kMove, place_of(hit), "fsdp_config." + hit.key, "", {}}};
  if (hit.key.rfind("parallelism_config_", 0) == 0)
    return {{Change::Kind::kMove, place_of(hit), "parallelism_config." + hit.key, "", {}}};
  return {};
}

Changes renamed_key(const Input&, const Hit& hit) {
  return rename_at(place_of(hit), prefix_of(hit.key) + "backward_prefetch");
}

Changes missing_type(const Input& input, const Hit& hit) {
  if (!is_set(input.root().find("fsdp_config"))) return {};
  return put_near(place_of(hit), "distributed_type", "FSDP");
}

Changes distributed_type(const Input& input, const Hit& hit) {
  const std::string value = text_of(node_at(input, place_of(hit)));
  if (starts_with_ignoring_case(value, "fsdp")) return set_at(place_of(hit), "FSDP");
  std::string upper;
  for (const char c : value) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const bool known = upper == "MULTI_GPU" || upper == "DEEPSPEED" || upper == "MEGATRON_LM" || upper == "MULTI_CPU";
  return known ? set_at(place_of(hit), upper) : Changes{};
}

Changes precision(const Input& input, const Hit& hit) {
  const std::string value = to_lower(text_of(node_at(input, place_of(hit))));
  for (const auto& [from, to] :
       {std::pair("bfloat16", "bf16"), std::pair("float16", "fp16"), std::pair("half", "fp16"),
        std::pair("float8", "fp8"), std::pair("fp32", "no"), std::pair("float32", "no"), std::pair("none", "no")}) {
    if (value == from) return set_at(place_of(hit), to);
  }
  return {};
}

// "2.0", "v2", "fsdp2": the number is in it.
Changes version(const Input& input, const Hit& hit) {
  const std::string value = text_of(node_at(input, place_of(hit)));
  const bool one = contains(value, "1"), two = contains(value, "2");
  return one != two ? set_at(place_of(hit), two ? "2" : "1") : Changes{};
}

Changes reshard_bool(const Input& input, const Hit& hit) {
  std::string value = to_lower(text_of(node_at(input, place_of(hit))));
  if (value == "hybrid_shard") value = "full_shard";
  return reshard_for(value).empty() ? Changes{} : set_at(place_of(hit), reshard_for(value));
}

// Says with FSDP2's key what the old one said, unless that key already stands there.
Changes strategy_under_v2(const Input& input, const Hit& hit) {
  const V view(input);
  const std::string value = reshard_for(view.strategy());
  if (value.empty()) return {};
  const Node* reshard = view.fsdp("reshard_after_forward");
  if (reshard != nullptr) return is_true(reshard) == (value == "true") ? remove_at(place_of(hit)) : Changes{};
  Changes changes = rename_at(place_of(hit), prefix_of(hit.key) + "reshard_after_forward");
  changes.push_back(set_at(place_of(hit), value).front());
  return changes;
}

Changes strategy_under_v1(const Input& input, const Hit& hit) {
  const Node* node = node_at(input, place_of(hit));
  const bool named = node != nullptr && !is_false(node) && reshard_for(node->text).empty() == false;
  if (!named && !is_false(node)) return {};
  Changes changes = rename_at(place_of(hit), prefix_of(hit.key) + "sharding_strategy");
  if (!named) changes.push_back(set_at(place_of(hit), "SHARD_GRAD_OP").front());
  return changes;
}

// ZeRO's names for the strategies.
Changes strategy_name(const Input& input, const Hit& hit) {
  const std::string value = to_lower(text_of(node_at(input, place_of(hit))));
  for (const auto& [from, to] :
       {std::pair("zero3", "FULL_SHARD"), std::pair("zero2", "SHARD_GRAD_OP"), std::pair("hsdp", "HYBRID_SHARD")}) {
    if (value == from) return set_at(place_of(hit), to);
  }
  return {};
}

Changes state_dict(const Input& input, const Hit& hit) {
  const bool full = starts_with_ignoring_case(text_of(node_at(input, place_of(hit))), "full");
  return set_at(place_of(hit), full ? "FULL_STATE_DICT" : "SHARDED_STATE_DICT");
}

Changes wrap_policy(const Input& input, const Hit& hit) {
  const V view(input);
  if (view.fsdp("auto_wrap_policy") != nullptr) {
    return set_at(place_of(*view.fsdp("auto_wrap_policy")), "TRANSFORMER_BASED_WRAP");
  }
  const Node* block = view.block();
  const bool bare = block != nullptr && !block->children.empty() && block->children.front().name.rfind("fsdp_", 0) != 0;
  return put_near(place_of(hit), std::string("fsdp_config.") + (bare ? "" : "fsdp_") + "auto_wrap_policy",
                  "TRANSFORMER_BASED_WRAP");
}

Changes one_string(const Input& input, const Hit& hit) {
  const Node* node = node_at(input, place_of(hit));
  if (node == nullptr) return {};
  const auto words = words_of(node);
  return words.empty() ? Changes{} : set_at(place_of(hit), join(words, ","));
}

// All GPUs of all machines, when the context counts them.
Changes all_gpus(const Input& input, const Hit& hit) {
  const auto machines = V(input).machines();
  if (!input.context.gpus || !machines || *machines <= 0 || *machines > 100000) return {};
  return set_at(place_of(hit), std::to_string(*input.context.gpus * *machines));
}

// dp_shard_size takes what the other sizes leave.
Changes fill_shard(const Input& input, const Hit&) {
  const V view(input);
  const auto processes = view.processes();
  const Node* shard = view.mesh("dp_shard_size");
  const long long rest = view.mesh_size("dp_replicate_size") * view.mesh_size("tp_size") * view.mesh_size("cp_size");
  if (!processes || shard == nullptr || rest <= 0 || *processes % rest != 0 || *processes < rest) return {};
  return set_at(place_of(*shard), std::to_string(*processes / rest));
}

// The switch to FSDP2, with the two keys that would stop it said in its own words.
Changes to_fsdp2(const Input& input, const Hit& hit) {
  const V view(input);
  const Node* reshard = view.fsdp("reshard_after_forward");
  const Node* strategy = view.fsdp("sharding_strategy");
  if (!view.is_yaml() || view.block() == nullptr) return {};
  Changes changes = put_near(place_of(hit), "fsdp_config.fsdp_version", "2");
  if (const Node* version = view.fsdp("version")) changes = set_at(place_of(*version), "2");
  if (is_set(reshard) && !is_true(reshard) && !is_false(reshard)) {
    const std::string value = reshard_for(text_of(reshard));
    if (value.empty()) return {};
    changes.push_back(set_at(place_of(*reshard), value).front());
  }
  if (strategy != nullptr && reshard_for(view.strategy()).empty()) return {};
  return changes;
}

Changes mesh_prefix(const Input& input, const Hit& hit) {
  const Node* node = node_at(input, place_of(hit));
  return node == nullptr ? Changes{} : rename_at(place_of(hit), "parallelism_config_" + node->name);
}

Changes fp8_name(const Input&, const Hit& hit) {
  return rename_at(place_of(hit), contains(hit.key, "length") ? "amax_history_len" : "amax_compute_algo");
}

}  // namespace

Fixes accelerate_fixes() {
  return {
      {"accelerate-unknown-top-key", unknown_top},
      {"accelerate-renamed-key", renamed_key},
      {"accelerate-missing-distributed-type", missing_type},
      {"accelerate-invalid-distributed-type", distributed_type},
      {"accelerate-deepspeed-config-with-fsdp", remove_it()},
      {"accelerate-mixed-precision-invalid", precision},
      {"accelerate-mixed-precision-yaml-bool", set_it("no")},
      {"accelerate-fsdp-version-invalid", version},
      {"accelerate-fsdp2-reshard-not-bool", reshard_bool},
      {"accelerate-fsdp2-sharding-strategy-ignored", strategy_under_v2},
      {"accelerate-fsdp2-obsolete-key", remove_it()},
      {"accelerate-fsdp2-forward-prefetch", remove_it()},
      {"accelerate-fsdp2-local-state-dict", set_it("SHARDED_STATE_DICT")},
      {"accelerate-fsdp1-reshard-ignored", strategy_under_v1},
      {"accelerate-sync-module-states-required", set_it("true")},
      {"accelerate-sharding-strategy-invalid", strategy_name},
      {"accelerate-auto-wrap-policy-invalid", set_it("TRANSFORMER_BASED_WRAP")},
      {"accelerate-backward-prefetch-invalid", set_it("BACKWARD_PRE")},
      {"accelerate-state-dict-type-invalid", state_dict},
      {"accelerate-no-wrap-policy", wrap_policy},
      {"accelerate-wrap-class-list", one_string},
      {"accelerate-wrap-class-whitespace", one_string},
      {"accelerate-wrap-class-empty", remove_it()},
      {"accelerate-hybrid-shard-exceeds-world", set_it("FULL_SHARD")},
      {"accelerate-hybrid-shard-single-node", set_it("FULL_SHARD")},
      {"accelerate-num-processes-below-machines", all_gpus},
      {"accelerate-num-processes-not-total", all_gpus},
      {"accelerate-num-processes-not-divisible", all_gpus},
      {"accelerate-parallelism-size-mismatch", fill_shard},
      {"accelerate-parallelism-requires-fsdp2", to_fsdp2},
      {"accelerate-parallelism-prefix-missing", mesh_prefix},
      {"accelerate-cp-comm-strategy-invalid", set_it("allgather")},
      {"accelerate-fp8-ao-ram-efficient", set_it("false")},
      {"accelerate-fp8-key-name", fp8_name},
      {"fsdp1-lora-use-orig-params", set_it("true")},
  };
}

}  // namespace fx::knowledge
