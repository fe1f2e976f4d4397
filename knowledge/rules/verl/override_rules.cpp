// Hydra's rules for verl's overrides, and its FSDP switches.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/verl/verl.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

struct Split {
  std::string parent, leaf;
};
Split split_key(const std::string& key) {
  const auto dot = key.rfind('.');
  return dot == std::string::npos ? Split{"", key} : Split{key.substr(0, dot), key.substr(dot + 1)};
}

void unknown_override(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  if (view.sft) return;
  for (const auto& override : view.overrides) {
    const auto [parent, leaf] = split_key(override.node.name);
    if (!override.sign.empty() || leaf == "grad_offload") continue;
    if (override.node.name == "actor_rollout_ref.actor.dtype") {
      hits.at(override.node, "The key moved.", "Write actor_rollout_ref.actor.fsdp_config.dtype.");
      continue;
    }
    bool complete = false;
    const auto* known = verl_keys(parent, complete);
    if (known == nullptr || std::find(known->begin(), known->end(), leaf) != known->end()) continue;
    const auto near = nearest(leaf, *known);
    const bool slip = near && leaf.size() >= 5 && edit_distance(leaf, *near) <= 2;
    if (slip || (complete && !view.megatron)) {
      hits.at(override.node, "There is no key " + quoted(leaf) + " in " + parent + ".",
              near ? "Write " + parent + "." + *near + "." : "");
    }
  }
}

void grad_offload(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  for (const auto& override : view.overrides) {
    const auto [parent, leaf] = split_key(override.node.name);
    if (leaf != "grad_offload" || !contains(parent, "fsdp_config")) continue;
    Hit& hit = hits.at(override.node);
    if (!override.sign.empty()) hit.severity = Severity::kWarning;
  }
}

void append_existing(const Input& input, Hits& hits) {
  static const std::vector<std::string> sure = {"strategy",
                                                "param_offload",
                                                "optimizer_offload",
                                                "fsdp_size",
                                                "ppo_mini_batch_size",
                                                "ppo_micro_batch_size_per_gpu",
                                                "use_dynamic_bsz",
                                                "use_kl_loss",
                                                "kl_loss_coef",
                                                "tensor_model_parallel_size",
                                                "gpu_memory_utilization",
                                                "n_gpus_per_node",
                                                "nnodes",
                                                "train_batch_size",
                                                "max_prompt_length",
                                                "max_response_length",
                                                "use_remove_padding",
                                                "enable_gradient_checkpointing",
                                                "path",
                                                "adv_estimator",
                                                "total_epochs",
                                                "log_prob_micro_batch_size_per_gpu",
                                                "ulysses_sequence_parallel_size"};
  const VerlView view = verl_view(input);
  for (const auto& override : view.overrides) {
    const auto [parent, leaf] = split_key(override.node.name);
    bool complete = false;
    const auto* known = verl_keys(parent, complete);
    if (override.sign != "+" || view.sft || known == nullptr) continue;
    const bool exists = std::find(known->begin(), known->end(), leaf) != known->end();
    if (exists && std::find(sure.begin(), sure.end(), leaf) != sure.end()) hits.at(override.node);
  }
}

void spaces(const Input& input, Hits& hits) {
  for (const Node& key : verl_view(input).spaced) hits.at(key);
}

void strategy_invalid(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  for (const auto& role : verl_roles()) {
    const std::string inner = verl_fsdp_path(role) + ".strategy";
    for (const std::string& key : {role + ".strategy", inner}) {
      const Node* node = view.get(key);
      if (node == nullptr || contains(node->text, "$")) continue;
      const bool good = node->text == "fsdp" || node->text == "fsdp2" || (node->text == "megatron" && key != inner) ||
                        (node->text == "veomni" && key != inner);
      if (!good) hits.at(*node, quoted(node->text) + " is no strategy.");
    }
  }
}

void policy_needs_fsdp2(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  for (const auto& role : verl_roles()) {
    const Node* policy = view.get(verl_fsdp_path(role) + ".offload_policy");
    if (is_true(policy) && view.strategy(role) == "fsdp") hits.at(*policy);
  }
}

void policy_overrides(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  for (const auto& role : verl_roles()) {
    const std::string path = verl_fsdp_path(role);
    if (view.strategy(role) != "fsdp2" || !is_true(view.get(path + ".offload_policy"))) continue;
    for (const char* name : {".param_offload", ".optimizer_offload"}) {
      if (const Node* node = view.get(path + name); is_true(node)) hits.at(*node);
    }
  }
}

void forward_prefetch(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  for (const auto& role : verl_roles()) {
    const Node* node = view.get(verl_fsdp_path(role) + ".forward_prefetch");
    if (is_true(node) && view.strategy(role) == "fsdp2") hits.at(*node);
  }
}

}  // namespace

Rules verl_override_rules() {
  return {
      {"verl-unknown-override", Severity::kError, kVerlOverrides, unknown_override},
      {"verl-removed-grad-offload", Severity::kError, kVerlOverrides, grad_offload},
      {"verl-append-existing-key", Severity::kError, kVerlOverrides, append_existing},
      {"verl-space-around-equals", Severity::kError, kVerlOverrides, spaces},
      {"verl-strategy-invalid", Severity::kError, kVerlOverrides, strategy_invalid},
      {"verl-offload-policy-needs-fsdp2", Severity::kWarning, kVerlOverrides, policy_needs_fsdp2},
      {"verl-offload-policy-overrides-param-offload", Severity::kInfo, kVerlOverrides, policy_overrides},
      {"verl-forward-prefetch-fsdp2", Severity::kWarning, kVerlOverrides, forward_prefetch},
  };
}

}  // namespace fx::knowledge
