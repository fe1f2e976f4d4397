// Keys of the Trainer's fsdp_config, by transformers version.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/trainer/trainer.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = TrainerView;
constexpr std::uint32_t kConfig = kTrainerCli | kTrainingArgsJson | kFsdpConfigJson;

void reshard_not_bool(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.setting("reshard_after_forward");
  if (view.version() != 2 || !is_set(node) || is_true(node) || is_false(node)) return;
  const bool grad = contains_ignoring_case(text_of(node), "grad_op") || contains_ignoring_case(text_of(node), "zero2");
  hits.at(*node, quoted(text_of(node)) + " is no boolean.", node->name + ": " + (grad ? "false" : "true"));
}

void ignored_v2(const Input& input, Hits& hits) {
  const V view(input);
  if (view.version() != 2 || !view.fsdp_on()) return;
  for (const char* name : {"backward_prefetch", "forward_prefetch", "use_orig_params", "sync_module_states",
                           "limit_all_gathers", "sharding_strategy"}) {
    if (const Node* node = view.setting(name)) hits.at(*node);
  }
}

void ignored_4x(const Input& input, Hits& hits) {
  const V view(input);
  if (!input.context.known_below("transformers", "5")) return;
  for (const char* name : {"sharding_strategy", "offload_params", "auto_wrap_policy", "state_dict_type", "version",
                           "reshard_after_forward", "cpu_offload"}) {
    if (const Node* node = view.setting(name)) hits.at(*node);
  }
}

void offload_name(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.setting("offload_params");
  if (node != nullptr && input.context.known_at_least("transformers", "5")) hits.at(*node);
}

void unknown_key(const Input& input, Hits& hits) {
  static const std::vector<Moved> moved = {{"transformer_cls_to_wrap", "transformer_layer_cls_to_wrap"},
                                           {"offload", "cpu_offload"},
                                           {"gradient_checkpointing", "activation_checkpointing"},
                                           {"backward_prefetch_policy", "backward_prefetch"}};
  const V view(input);
  if (view.block() == nullptr) return;
  for (const Node& child : view.block()->children) {
    const std::string bare = child.name.rfind("fsdp_", 0) == 0 ? child.name.substr(5) : child.name;
    const auto& known = trainer_fsdp_keys();
    if (std::find(known.begin(), known.end(), bare) == known.end()) report_unknown(child, bare, known, moved, hits);
  }
}

void size_policy(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.setting("min_num_params");
  if (!input.context.known_at_least("transformers", "5") || integer_of(node).value_or(0) <= 0) return;
  if (text_of(view.setting("auto_wrap_policy")) != "SIZE_BASED_WRAP") hits.at(*node);
}

void exclusive_policies(const Input& input, Hits& hits) {
  const V view(input);
  if (!input.context.known_below("transformers", "5")) return;
  const Node* size = view.setting("min_num_params");
  if (size == nullptr) size = view.argument("fsdp_min_num_params");
  const Node* names = view.setting("transformer_layer_cls_to_wrap");
  if (names == nullptr) names = view.argument("fsdp_transformer_layer_cls_to_wrap");
  if (integer_of(size).value_or(0) > 0 && is_set(names)) hits.at(*size);
}

void policy_invalid(const Input& input, Hits& hits) {
  if (!input.context.known_at_least("transformers", "5")) return;
  const V view(input);
  bad_value([&view](const Input&) { return view.setting("auto_wrap_policy"); },
            {"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"})(input, hits);
}

void checkpointing_twice(const Input& input, Hits& hits) {
  const V view(input);
  if (!is_true(view.setting("activation_checkpointing"))) return;
  const Node* node = view.argument("gradient_checkpointing");
  if (!is_true(node)) node = view.argument("activation_checkpointing");
  if (is_true(node)) hits.at(*node);
}

void checkpointing_full_shard(const Input& input, Hits& hits) {
  const V view(input);
  const bool full = view.has_option("full_shard") || view.has_option("hybrid_shard");
  if (full && is_true(view.argument("gradient_checkpointing"))) hits.at(*view.argument("gradient_checkpointing"));
}

void sync_states(const Input& input, Hits& hits) {
  const V view(input);
  if (view.version().value_or(1) != 2 && is_true(view.setting("cpu_ram_efficient_loading")) &&
      is_false(view.setting("sync_module_states"))) {
    hits.at(*view.setting("sync_module_states"));
  }
}

void save_sharded(const Input& input, Hits& hits) {
  const V view(input);
  const Node* save = view.argument("save_only_model");
  if (view.runs_under_fsdp() && is_true(save) &&
      contains_ignoring_case(text_of(view.setting("state_dict_type")), "sharded"))
    hits.at(*save);
}

void save_load_best(const Input& input, Hits& hits) {
  const V view(input);
  if (view.runs_under_fsdp() && is_true(view.argument("save_only_model")) &&
      is_true(view.argument("load_best_model_at_end"))) {
    hits.at(*view.argument("save_only_model"));
  }
}

void best_mismatch(const Input& input, Hits& hits) {
  const V view(input);
  const Node* best = view.argument("load_best_model_at_end");
  if (!is_true(best)) return;
  const Node* save = view.argument("save_strategy");
  const Node* eval = view.argument("eval_strategy");
  if (eval == nullptr) eval = view.argument("evaluation_strategy");
  const std::string save_text = save == nullptr ? "steps" : text_of(save),
                    eval_text = eval == nullptr ? "no" : text_of(eval);
  if (save_text == "best" || contains(save_text + eval_text, "$")) return;
  if (save_text != eval_text) {
    hits.at(save != nullptr ? *save : *best,
            "save_strategy is " + quoted(save_text) + ", eval_strategy is " + quoted(eval_text) + ".");
    return;
  }
  const auto save_steps = integer_of(view.argument("save_steps")), eval_steps = integer_of(view.argument("eval_steps"));
  if (save_text == "steps" && save_steps && eval_steps && *eval_steps > 0 && *save_steps % *eval_steps != 0) {
    hits.at(*view.argument("save_steps"),
            std::to_string(*save_steps) + " is no multiple of " + std::to_string(*eval_steps) + ".");
  }
}

}  // namespace

Rules trainer_config_rules() {
  return {
      {"trainer-fsdp2-reshard-not-bool", Severity::kError, kConfig, reshard_not_bool},
      {"trainer-fsdp2-ignored-key", Severity::kWarning, kConfig, ignored_v2},
      {"trainer-4x-ignored-key", Severity::kWarning, kConfig, ignored_4x},
      {"trainer-cpu-offload-key-name", Severity::kWarning, kConfig, offload_name},
      {"trainer-unknown-fsdp-key", Severity::kWarning, kConfig, unknown_key},
      {"trainer-min-num-params-without-size-policy", Severity::kWarning, kConfig, size_policy},
      {"trainer-wrap-policies-exclusive", Severity::kError, kConfig, exclusive_policies},
      {"trainer-auto-wrap-policy-invalid", Severity::kError, kConfig, policy_invalid},
      {"trainer-activation-checkpointing-twice", Severity::kError, kTrainerCli | kTrainingArgsJson,
       checkpointing_twice},
      {"trainer-gradient-checkpointing-with-full-shard", Severity::kWarning, kTrainerCli | kTrainingArgsJson,
       checkpointing_full_shard},
      {"trainer-sync-module-states-required", Severity::kError, kConfig, sync_states},
      {"trainer-save-only-model-sharded", Severity::kError, kTrainerCli | kTrainingArgsJson, save_sharded},
      {"trainer-save-only-model-load-best", Severity::kError, kTrainerCli | kTrainingArgsJson, save_load_best},
      {"trainer-load-best-strategy-mismatch", Severity::kError, kTrainerCli | kTrainingArgsJson, best_mismatch},
  };
}

}  // namespace fx::knowledge
