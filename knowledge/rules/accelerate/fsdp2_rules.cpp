// FSDP1 settings under FSDP2, and the other way round.
#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = AccelerateView;
constexpr std::uint32_t kBoth = kAccelerateYaml | kAccelerateLaunch;

bool is_bool_word(const Node* node) {
  return is_true(node) || is_false(node);
}

std::string reshard_of(const std::string& strategy) {
  return strategy == "SHARD_GRAD_OP" || strategy == "HYBRID_SHARD_ZERO2" ? "false" : "true";
}

void torch_too_old(const Input& input, Hits& hits) {
  const V view(input);
  if (view.version() == 2 && input.context.known_below("torch", "2.6")) hits.at(*view.fsdp("version"));
}

void reshard_not_bool(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.fsdp("reshard_after_forward");
  if (view.version() != 2 || !is_set(node) || is_bool_word(node)) return;
  std::string strategy = text_of(node);
  hits.at(*node, quoted(strategy) + " is no boolean.", node->shown + ": " + reshard_of(strategy));
}

void strategy_ignored(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.fsdp("sharding_strategy");
  if (view.version() != 2 || !is_set(node)) return;
  std::string fix = "fsdp_reshard_after_forward: " + reshard_of(view.strategy());
  if (view.strategy().rfind("HYBRID", 0) == 0) fix += ", and parallelism_config_dp_replicate_size for the replicas";
  if (view.strategy() == "NO_SHARD") fix = "distributed_type: MULTI_GPU, which is plain data parallelism";
  hits.at(*node, "The strategy " + quoted(view.strategy()) + " is not read under version 2.", fix);
}

void obsolete_key(const Input& input, Hits& hits) {
  const V view(input);
  if (view.version() != 2) return;
  for (const char* name : {"backward_prefetch", "use_orig_params"}) {
    const Node* node = view.fsdp(name);
    if (is_set(node)) hits.at(*node, "", "Delete " + node->shown + ".");
  }
  if (const Node* node = view.fsdp("sync_module_states"); is_true(node))
    hits.at(*node, "", "Delete " + node->shown + ".");
}

void forward_prefetch(const Input& input, Hits& hits) {
  const V view(input);
  if (view.version() == 2 && is_true(view.fsdp("forward_prefetch"))) hits.at(*view.fsdp("forward_prefetch"));
}

void local_state_dict(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.fsdp("state_dict_type");
  if (view.version() == 2 && to_lower(text_of(node)) == "local_state_dict") hits.at(*node);
}

void reshard_ignored(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.fsdp("reshard_after_forward");
  if (view.version() != 1 || !is_set(node) || view.fsdp("sharding_strategy") != nullptr) return;
  const std::string value = to_lower(text_of(node));
  if (value == "full_shard" || is_true(node)) return;
  std::string fix =
      "fsdp_sharding_strategy: SHARD_GRAD_OP for FSDP1, or fsdp_version: 2 with fsdp_reshard_after_forward: false";
  if (!is_bool_word(node)) {
    fix =
        "fsdp_sharding_strategy: " + quote_input(node->text, 40) + " for FSDP1, or fsdp_version: 2 with a boolean here";
  }
  hits.at(*node, "", fix);
}

void no_shard(const Input& input, Hits& hits) {
  const V view(input);
  if (view.version() == 1 && view.fsdp("sharding_strategy") != nullptr && view.strategy() == "NO_SHARD") {
    hits.at(*view.fsdp("sharding_strategy"));
  }
  for (const auto& launch : input.launches) {
    const Node* node = launch.arguments.find("fsdp");
    if (node == nullptr) continue;
    for (const auto& word : words_of(node)) {
      if (word == "no_shard") hits.at(*node);
    }
  }
}

void lora_orig_params(const Input& input, Hits& hits) {
  const Node* model = &input.context.model;
  const V view(input);
  if (view.version() != 1 || !is_false(view.fsdp("use_orig_params"))) return;
  if (model->find("peft_type") != nullptr || model->find("adapter") != nullptr) hits.at(*view.fsdp("use_orig_params"));
}

}  // namespace

Rules accelerate_fsdp2_rules() {
  return {
      {"accelerate-fsdp2-torch-too-old", Severity::kError, kBoth, torch_too_old},
      {"accelerate-fsdp2-reshard-not-bool", Severity::kError, kBoth, reshard_not_bool},
      {"accelerate-fsdp2-sharding-strategy-ignored", Severity::kWarning, kBoth, strategy_ignored},
      {"accelerate-fsdp2-obsolete-key", Severity::kWarning, kBoth, obsolete_key},
      {"accelerate-fsdp2-forward-prefetch", Severity::kWarning, kBoth, forward_prefetch},
      {"accelerate-fsdp2-local-state-dict", Severity::kError, kBoth, local_state_dict},
      {"accelerate-fsdp1-reshard-ignored", Severity::kWarning, kBoth, reshard_ignored},
      {"fsdp1-no-shard-deprecated", Severity::kWarning, kBoth | kTrainerCli, no_shard},
      {"fsdp1-lora-use-orig-params", Severity::kInfo, kBoth, lora_orig_params},
  };
}

}  // namespace fx::knowledge
