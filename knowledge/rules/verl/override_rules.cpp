// Hydra's rules for verl's overrides, and its FSDP switches.
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

// The first part of a dotted key that its parent does not have; npos when all are known or out of our sight.
struct Unknown {
  std::string parent, part, rest;
};
std::optional<Unknown> unknown_part(const std::string& key) {
  std::string parent;
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t dot = std::min(key.find('.', at), key.size());
    const std::string part = key.substr(at, dot - at);
    const VerlKeys* known = verl_keys(parent);
    if (known == nullptr) return std::nullopt;
    if (!known->age(part)) return Unknown{parent, part, key.substr(dot)};
    parent = join_path(parent, part);
    at = dot + 1;
  }
  return std::nullopt;
}

void unknown_override(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  if (view.sft) return;
  for (const auto& override : view.overrides) {
    const std::string& key = override.node.name;
    if (hits.full()) return;
    if (!override.sign.empty() || split_key(key).leaf == "grad_offload") continue;
    if (contains(key, "$") || contains(key, "@") || contains(key, "/") || key.rfind("hydra.", 0) == 0) {
      continue;  // a variable, a config group, Hydra's own
    }
    if (key == "actor_rollout_ref.actor.dtype") {
      hits.at(override.node, "The key moved.", "Write actor_rollout_ref.actor.fsdp_config.dtype.");
      continue;
    }
    const auto unknown = unknown_part(key);
    if (!unknown) continue;
    const auto near = nearest(unknown->part, verl_keys(unknown->parent)->names);
    const bool slip = near && unknown->part.size() >= 5 && edit_distance(unknown->part, *near) <= 2;
    if (!slip && !view.stock_config) continue;
    const std::string where = unknown->parent.empty() ? "the configuration" : unknown->parent;
    hits.at(override.node, "There is no key " + quoted(unknown->part) + " in " + where + ".",
            near ? "Write " + quote_input(join_path(unknown->parent, *near) + unknown->rest, 160) + "." : "");
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
  const VerlView view = verl_view(input);
  if (!view.stock_config) return;
  for (const auto& override : view.overrides) {
    const auto [parent, leaf] = split_key(override.node.name);
    const VerlKeys* known = override.sign == "+" ? verl_keys(parent) : nullptr;
    const auto age = known == nullptr ? std::nullopt : known->age(leaf);
    const bool recent = age == VerlKeyAge::kRecent && !input.context.known_below("verl", "0.6");
    if (age == VerlKeyAge::kAlways || recent) hits.at(override.node);
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
