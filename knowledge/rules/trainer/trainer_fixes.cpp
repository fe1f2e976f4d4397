#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/trainer/trainer.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

using V = TrainerView;

std::string prefix_of(const Node* node) {
  return node != nullptr && node->name.rfind("fsdp_", 0) == 0 ? "fsdp_" : "";
}

// The option list with each wrong word replaced by its nearest.
Changes known_options(const Input& input, const Hit& hit) {
  const Node* node = node_at(input, place_of(hit));
  if (node == nullptr || node->is_list()) return {};
  std::string value = replace_all(node->text, ",", " ");  // the Trainer splits at blanks alone
  for (const auto& word : words_of(node)) {
    const auto& known = trainer_fsdp_options();
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const auto near = nearest(to_lower(word), known);
    if (!near) return {};
    value.replace(value.find(word), word.size(), *near);
  }
  return set_at(place_of(hit), value);
}

Changes into_config(const Input& input, const Hit& hit) {
  if (input.syntax == "shell" || hit.key.rfind("fsdp_", 0) != 0) return {};
  return {{Change::Kind::kMove, place_of(hit), "fsdp_config." + hit.key.substr(5), "", {}}};
}

Changes removed(const Input& input, const Hit& hit) {
  if (contains(hit.key, "evaluation_strategy")) return rename_at(place_of(hit), "eval_strategy");
  return into_config(input, hit);
}

std::string reshard_for(const std::string& strategy) {
  const std::string low = to_lower(strategy);
  if (low == "full_shard" || low == "hybrid_shard") return "true";
  return low == "shard_grad_op" ? "false" : "";
}

Changes reshard_bool(const Input& input, const Hit& hit) {
  const std::string value = reshard_for(text_of(node_at(input, place_of(hit))));
  return value.empty() ? Changes{} : set_at(place_of(hit), value);
}

Changes ignored_key(const Input& input, const Hit& hit) {
  const Node* node = node_at(input, place_of(hit));
  if (node == nullptr || !contains(node->name, "sharding_strategy")) return remove_at(place_of(hit));
  const std::string value = to_lower(node->text) == "hybrid_shard" ? "" : reshard_for(node->text);
  if (value.empty() || V(input).setting("reshard_after_forward") != nullptr) return {};
  Changes changes = rename_at(place_of(hit), prefix_of(node) + "reshard_after_forward");
  changes.push_back(set_at(place_of(hit), value).front());
  return changes;
}

Changes cpu_offload(const Input& input, const Hit& hit) {
  if (V(input).setting("cpu_offload") != nullptr) return {};
  return rename_at(place_of(hit), prefix_of(node_at(input, place_of(hit))) + "cpu_offload");
}

// The Trainer's switch goes, FSDP's own comes.
Changes checkpointing(const Input& input, const Hit& hit) {
  const Node* config = input.root().find("fsdp_config");
  if (config == nullptr || !config->is_map()) return {};
  Changes changes = remove_at(place_of(hit));
  changes.push_back(put_near(place_of(hit), "fsdp_config.activation_checkpointing", "true").front());
  return changes;
}

}  // namespace

Fixes trainer_fixes() {
  return {
      {"trainer-fsdp-option-unknown", known_options},
      {"trainer-fsdp-offload-alone", set_it("full_shard offload")},
      {"trainer-removed-arg", removed},
      {"trainer-deprecated-fsdp-arg", into_config},
      {"trainer-fsdp2-reshard-not-bool", reshard_bool},
      {"trainer-fsdp2-ignored-key", ignored_key},
      {"trainer-cpu-offload-key-name", cpu_offload},
      {"trainer-wrap-policies-exclusive", remove_it()},
      {"trainer-auto-wrap-policy-invalid", set_it("TRANSFORMER_BASED_WRAP")},
      {"trainer-activation-checkpointing-twice", remove_it()},
      {"trainer-gradient-checkpointing-with-full-shard", checkpointing},
      {"trainer-sync-module-states-required", set_it("true")},
  };
}

}  // namespace fx::knowledge
