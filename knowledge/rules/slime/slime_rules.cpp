// slime and miles with the FSDP backend.
#include "knowledge/formats/slime/slime.h"

#include "base/text.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

double number(const SlimeView& view, std::string_view name) {
  return number_of(view.flag(name)).value_or(0);
}

std::optional<bool> backend_removed(const Input& input) {
  return input.context.from_day("slime", "2026-03-04", std::nullopt);
}

void removed(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (view.fsdp() && !view.relax && !view.miles && backend_removed(input).value_or(false))
    hits.at(*view.flag("train_backend"));
}

void deprecated(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (!view.fsdp() || view.relax || backend_removed(input).value_or(false)) return;
  if (input.context.from_day("slime", "2026-01-15", std::nullopt).value_or(true)) hits.at(*view.flag("train_backend"));
}

void offload_disabled(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (!view.fsdp() || view.relax || view.flag("fsdp_cpu_offload") == nullptr || backend_removed(input).value_or(false))
    return;
  for (const char* name : {"offload_train", "colocate", "offload"}) {
    if (const Node* flag = view.flag(name)) {
      hits.at(*flag);
      return;
    }
  }
}

void dynamic_needs_tokens(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  const Node* dynamic = view.flag("use_dynamic_batch_size");
  if (dynamic != nullptr && view.flag("max_tokens_per_gpu") == nullptr && !(view.relax && view.fsdp()))
    hits.at(*dynamic);
}

void kl_both(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (number(view, "kl_coef") != 0 && number(view, "kl_loss_coef") != 0) hits.at(*view.flag("kl_coef"));
}

void bshd(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (text_of(view.flag("qkv_format")) != "bshd") return;
  if (view.fsdp() || view.flag("use_dynamic_batch_size") != nullptr) hits.at(*view.flag("qkv_format"));
}

void parallel_ignored(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (!view.fsdp()) return;
  for (const Node& flag : view.flags.children) {
    const bool parallel = flag.name == "tensor_model_parallel_size" || flag.name == "pipeline_model_parallel_size" ||
                          flag.name == "expert_model_parallel_size" || flag.name.rfind("recompute_", 0) == 0;
    if (parallel) hits.at(flag);
  }
}

void optimizer(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  const Node* flag = view.flag("optimizer");
  if (view.fsdp() && !view.relax && is_set(flag) && flag->text != "adam" && !contains(flag->text, "$")) hits.at(*flag);
}

void async_save(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (view.fsdp() && view.flag("async_save") != nullptr) hits.at(*view.flag("async_save"));
}

void rollout_count(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (view.complete && view.flag("num_rollout") == nullptr && view.flag("num_epoch") == nullptr) hits.root();
}

void save_interval(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  if (view.complete && view.flag("save_interval") != nullptr && view.flag("save") == nullptr)
    hits.at(*view.flag("save_interval"));
}

void global_batch(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  const auto global = integer_of(view.flag("global_batch_size")),
             steps = integer_of(view.flag("num_steps_per_rollout"));
  const auto rollout = integer_of(view.flag("rollout_batch_size")),
             samples = integer_of(view.flag("n_samples_per_prompt"));
  if (!global || !steps || !rollout || !samples || *steps <= 0 || *rollout > 1000000 || *samples > 1000000) return;
  const long long product = *rollout * *samples / *steps;
  if (product == *global) return;
  hits.at(*view.flag("global_batch_size"),
          std::to_string(*rollout) + " x " + std::to_string(*samples) + " / " + std::to_string(*steps) + " = " +
              std::to_string(product) + ", not " + std::to_string(*global) + ".",
          "--global-batch-size " + std::to_string(product) + ", or leave it out");
}

void token_budget(const Input& input, Hits& hits) {
  const SlimeView view = slime_view(input);
  const Node* dynamic = view.flag("use_dynamic_batch_size");
  const auto tokens = integer_of(view.flag("max_tokens_per_gpu")),
             context = integer_of(view.flag("rollout_max_context_len"));
  if (dynamic == nullptr || !tokens || !context || (view.relax && view.fsdp())) return;
  const long long cp = integer_of(view.flag("context_parallel_size")).value_or(1);
  if (cp <= 0 || cp > 100000 || *tokens > 1000000000 || *tokens * cp >= *context) return;
  Hit& hit = hits.at(*dynamic,
                     std::to_string(*tokens) + " tokens a GPU against a context of " + std::to_string(*context) + ".");
  if (view.relax) hit.severity = Severity::kError;
}

}  // namespace

Rules slime_rules() {
  return {
      {"slime-fsdp-backend-removed", Severity::kError, kSlimeCli, removed},
      {"slime-fsdp-backend-deprecated", Severity::kWarning, kSlimeCli, deprecated},
      {"slime-offload-train-disabled", Severity::kInfo, kSlimeCli, offload_disabled},
      {"slime-dynamic-batch-needs-max-tokens", Severity::kError, kSlimeCli, dynamic_needs_tokens},
      {"slime-kl-coef-both", Severity::kError, kSlimeCli, kl_both},
      {"slime-bshd-needs-megatron", Severity::kError, kSlimeCli, bshd},
      {"slime-fsdp-model-parallel-ignored", Severity::kWarning, kSlimeCli, parallel_ignored},
      {"slime-fsdp-optimizer", Severity::kError, kSlimeCli, optimizer},
      {"slime-fsdp-async-save", Severity::kError, kSlimeCli, async_save},
      {"slime-rollout-count-missing", Severity::kError, kSlimeCli, rollout_count},
      {"slime-save-interval-needs-save", Severity::kError, kSlimeCli, save_interval},
      {"slime-global-batch-mismatch", Severity::kError, kSlimeCli, global_batch},
      {"slime-token-budget-below-context", Severity::kWarning, kSlimeCli, token_budget},
  };
}

}  // namespace fx::knowledge
