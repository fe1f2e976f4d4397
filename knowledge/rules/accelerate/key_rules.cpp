// Keys and values of an accelerate configuration.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = AccelerateView;
constexpr std::uint32_t kBoth = kAccelerateYaml | kAccelerateLaunch;

Find fsdp(const std::string& name) {
  return [name = std::move(name)](const Input& input) { return V(input).fsdp(name); };
}

void unknown_top_key(const Input& input, Hits& hits) {
  if (text_of(input.root().find("compute_environment")) == "AMAZON_SAGEMAKER") return;  // other keys
  for (const Node& child : input.root().children) {
    const auto& known = accelerate_top_keys();
    if (std::find(known.begin(), known.end(), child.name) != known.end()) continue;
    if (child.name.rfind("fsdp_", 0) == 0) {
      hits.at(child, quoted(child.name) + " stands at the top level.", "Move it under fsdp_config.");
    } else if (child.name.rfind("parallelism_config_", 0) == 0) {
      hits.at(child, quoted(child.name) + " stands at the top level.", "Move it under parallelism_config.");
    } else {
      report_unknown(child, child.name, known, {}, hits);
    }
  }
}

void unknown_fsdp_key(const Input& input, Hits& hits) {
  static const std::vector<Moved> moved = {{"transformer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap"},
                                           {"cpu_offload", "fsdp_offload_params"},
                                           {"offload", "fsdp_offload_params"},
                                           {"gradient_checkpointing", "fsdp_activation_checkpointing"},
                                           {"wrap_policy", "fsdp_auto_wrap_policy"}};
  const Node* block = V(input).block();
  if (block == nullptr) return;
  for (const Node& child : block->children) {
    const std::string bare = child.name.rfind("fsdp_", 0) == 0 ? child.name.substr(5) : child.name;
    const auto& known = accelerate_fsdp_keys();
    if (bare == "backward_prefetch_policy" || std::find(known.begin(), known.end(), bare) != known.end()) continue;
    report_unknown(child, bare, known, moved, hits);
  }
}

void renamed_key(const Input& input, Hits& hits) {
  if (const Node* block = V(input).block()) {
    for (const char* name : {"fsdp_backward_prefetch_policy", "backward_prefetch_policy"}) {
      if (const Node* old = block->find(name)) hits.at(*old, "Current accelerate ignores this name.");
    }
  }
  for (const auto& launch : input.launches) {
    if (launch.launcher != Launcher::kAccelerate) continue;
    if (const Node* old = launch.unknown.find("fsdp_backward_prefetch_policy")) {
      hits.at(*old, "The parser stops with 'unrecognized arguments'.").severity = Severity::kError;
    }
  }
}

void missing_distributed_type(const Input& input, Hits& hits) {
  if (input.root().find("distributed_type") == nullptr) hits.root();
}

void invalid_distributed_type(const Input& input, Hits& hits) {
  static constexpr std::array<std::string_view, 17> known = {
      "NO",          "MULTI_CPU", "MULTI_GPU",    "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA",
      "MULTI_MUSA",  "MULTI_XPU", "DEEPSPEED",    "FSDP",      "XLA",       "TPU",
      "MEGATRON_LM", "MULTI_HPU", "MULTI_NEURON", "TP",        "SAGEMAKER"};
  const Node* node = input.root().find("distributed_type");
  if (node == nullptr || !node->is_scalar()) return;
  for (const auto name : known) {
    if (node->text == name) return;
  }
  if (node->kind == Node::Kind::kBool && is_false(node)) return;
  hits.at(*node, quoted(node->text) + " is no DistributedType.",
          starts_with_ignoring_case(node->text, "fsdp") ? "distributed_type: FSDP" : "");
}

void fsdp_config_ignored(const Input& input, Hits& hits) {
  const V view(input);
  const std::string type = text_of(view.top("distributed_type"));
  if (!is_set(view.block()) || (type != "MULTI_GPU" && type != "NO" && type != "DEEPSPEED")) return;
  hits.at(*view.block(), "distributed_type is " + type + ".");
}

void deepspeed_config_with_fsdp(const Input& input, Hits& hits) {
  const V view(input);
  if (view.fsdp_on() && is_set(view.top("deepspeed_config"))) hits.at(*view.top("deepspeed_config"));
}

void mixed_precision_invalid(const Input& input, Hits& hits) {
  const Node* node = V(input).top("mixed_precision");
  if (node == nullptr || node->kind == Node::Kind::kBool || node->is_null() || !node->is_scalar()) return;
  const std::string value = to_lower(node->text);
  if (value == "no" || value == "fp16" || value == "bf16" || value == "fp8") return;
  hits.at(*node, quoted(node->text) + " is not one of no, fp16, bf16, fp8.",
          "mixed_precision: " + std::string(contains(value, "16") && !contains(value, "b") ? "fp16" : "bf16"));
}

void mixed_precision_bool(const Input& input, Hits& hits) {
  for (const char* name : {"mixed_precision", "downcast_bf16"}) {
    const Node* node = input.root().find(name);
    if (node == nullptr || node->kind != Node::Kind::kBool || node->quoted || !is_false(node)) continue;
    if (node->name == "downcast_bf16" && to_lower(node->text) != "no") continue;
    hits.at(*node, "", std::string(name) + ": 'no'");
  }
}

void sync_module_states(const Input& input, Hits& hits) {
  const V view(input);
  const Node* sync = view.fsdp("sync_module_states");
  const Node* ram = view.fsdp("cpu_ram_efficient_loading");
  if (is_false(sync) && (ram == nullptr || ram->is_null() || is_true(ram)) && (!view.is_yaml() || view.fsdp_on())) {
    hits.at(*sync, ram == nullptr ? "fsdp_cpu_ram_efficient_loading is absent, and its launch default is true." : "");
  }
}

void fp8_key_name(const Input& input, Hits& hits) {
  const Node* block = input.root().find("fp8_config");
  if (block == nullptr) return;
  if (const Node* node = block->find("amax_history_length")) hits.at(*node, "", "Write amax_history_len.");
  if (const Node* node = block->find("amax_compute_algorithm")) hits.at(*node, "", "Write amax_compute_algo.");
}

void fp8_ao_ram(const Input& input, Hits& hits) {
  const V view(input);
  const Node* ram = view.fsdp("cpu_ram_efficient_loading");
  const Node* block = input.root().find("fp8_config");
  if (block == nullptr || to_lower(text_of(view.top("mixed_precision"))) != "fp8") return;
  if (to_lower(text_of(block->find("backend"))) == "ao" && is_true(ram)) hits.at(*ram);
}

void fp8_msamp(const Input& input, Hits& hits) {
  const Node* block = input.root().find("fp8_config");
  if (block == nullptr || !V(input).fsdp_on()) return;
  const Node* backend = block->find("backend");
  if (to_lower(text_of(backend)) == "msamp") hits.at(*backend);
}

}  // namespace

Rules accelerate_key_rules() {
  return {
      {"accelerate-unknown-top-key", Severity::kError, kAccelerateYaml, unknown_top_key},
      {"accelerate-unknown-fsdp-key", Severity::kWarning, kAccelerateYaml, unknown_fsdp_key},
      {"accelerate-renamed-key", Severity::kWarning, kBoth, renamed_key},
      {"accelerate-missing-distributed-type", Severity::kError, kAccelerateYaml, missing_distributed_type},
      {"accelerate-invalid-distributed-type", Severity::kError, kAccelerateYaml, invalid_distributed_type},
      {"accelerate-fsdp-config-ignored", Severity::kWarning, kAccelerateYaml, fsdp_config_ignored},
      {"accelerate-deepspeed-config-with-fsdp", Severity::kWarning, kAccelerateYaml, deepspeed_config_with_fsdp},
      {"accelerate-mixed-precision-invalid", Severity::kError, kBoth, mixed_precision_invalid},
      {"accelerate-mixed-precision-yaml-bool", Severity::kError, kAccelerateYaml, mixed_precision_bool},
      {"accelerate-fsdp-version-invalid", Severity::kError, kBoth, bad_value(fsdp("version"), {"2", "1"})},
      {"accelerate-sync-module-states-required", Severity::kError, kBoth, sync_module_states},
      {"accelerate-sharding-strategy-invalid", Severity::kError, kBoth,
       bad_value(
           fsdp("sharding_strategy"),
           {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2", "1", "2", "3", "4", "5"},
           true)},
      {"accelerate-auto-wrap-policy-invalid", Severity::kError, kBoth,
       bad_value(fsdp("auto_wrap_policy"), {"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"}, true)},
      {"accelerate-backward-prefetch-invalid", Severity::kError, kBoth,
       bad_value(fsdp("backward_prefetch"), {"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH", "1", "2"}, true)},
      {"accelerate-state-dict-type-invalid", Severity::kError, kBoth,
       bad_value(fsdp("state_dict_type"), {"SHARDED_STATE_DICT", "FULL_STATE_DICT", "LOCAL_STATE_DICT", "1", "2", "3"},
                 true)},
      {"accelerate-fp8-key-name", Severity::kWarning, kAccelerateYaml, fp8_key_name},
      {"accelerate-fp8-ao-ram-efficient", Severity::kError, kAccelerateYaml, fp8_ao_ram},
      {"accelerate-fp8-msamp-fsdp", Severity::kError, kAccelerateYaml, fp8_msamp},
      {"accelerate-cp-comm-strategy-invalid", Severity::kError, kBoth,
       bad_value([](const Input& input) { return V(input).mesh("cp_comm_strategy"); }, {"allgather", "alltoall"})},
  };
}

}  // namespace fx::knowledge
