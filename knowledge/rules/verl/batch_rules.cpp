// verl's batch arithmetic, rollout and sequence parallel.
#include "base/text.h"
#include "knowledge/formats/verl/verl.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

// A number of the overrides; the default when absent; nullopt when only the shell knows it.
std::optional<long long> number(const VerlView& view, std::string_view key, long long fallback) {
  const Node* node = view.get(key);
  if (node == nullptr) return fallback;
  const auto value = integer_of(node);
  return value && *value > 0 && *value < 1000000000 ? value : std::nullopt;
}

bool is_dynamic(const VerlView& view) {
  const Node* node = view.get("actor_rollout_ref.actor.use_dynamic_bsz");
  return node != nullptr && (is_true(node) || contains(node->text, "$"));
}

std::optional<long long> gpus(const VerlView& view) {
  const auto per_node = number(view, "trainer.n_gpus_per_node", 8), nodes = number(view, "trainer.nnodes", 1);
  if (!per_node || !nodes) return std::nullopt;
  return *per_node * *nodes;
}

void needs_remove_padding(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  const auto check = [&](const std::string& key, bool padded) {
    const Node* node = view.get(key);
    if (padded && integer_of(node).value_or(1) > 1) hits.at(*node);
  };
  if (view.sft) {
    check("ulysses_sequence_parallel_size", !is_true(view.get("use_remove_padding")) && view.complete);
    return;
  }
  const bool off = is_false(view.get("actor_rollout_ref.model.use_remove_padding"));
  check("actor_rollout_ref.actor.ulysses_sequence_parallel_size", off);
  check("actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size", off);
  check("actor_rollout_ref.ref.ulysses_sequence_parallel_size", off);
  check("critic.ulysses_sequence_parallel_size", !is_true(view.get("critic.model.use_remove_padding")));
}

void batch_not_divisible(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  const Node* node = view.get("data.train_batch_size");
  const auto batch = integer_of(node), n = number(view, "actor_rollout_ref.rollout.n", 1);
  const auto world = gpus(view);
  if (view.sft || view.megatron || is_dynamic(view) || !batch || *batch > 1000000000 || !n || !world || *world <= 0)
    return;
  if (*batch * *n % *world == 0) return;
  hits.at(*node, std::to_string(*batch) + " prompts x " + std::to_string(*n) + " samples is no multiple of " +
                     std::to_string(*world) + " GPUs.");
}

void mini_exceeds(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  const Node* mini = view.get("actor_rollout_ref.actor.ppo_mini_batch_size");
  const auto small = integer_of(mini), batch = integer_of(view.get("data.train_batch_size"));
  if (!view.sft && !is_dynamic(view) && small && batch && *small > *batch) {
    hits.at(*mini, std::to_string(*small) + " is above data.train_batch_size " + std::to_string(*batch) + ".");
  }
}

void both_micro(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  for (const char* key :
       {"actor_rollout_ref.actor.ppo_micro_batch_size", "critic.ppo_micro_batch_size",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size", "actor_rollout_ref.ref.log_prob_micro_batch_size"}) {
    const Node* plain = view.get(key);
    const Node* per_gpu = view.get(std::string(key) + "_per_gpu");
    if (is_set(plain) && is_set(per_gpu) && plain->text != "null" && per_gpu->text != "null") hits.at(*plain);
  }
}

void micro_missing(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  if (!view.stock_config || !view.complete || is_dynamic(view)) return;
  const auto missing = [&](const std::string& key) {
    return !is_set(view.get(key)) && !is_set(view.get(key + "_per_gpu"));
  };
  std::string what;
  if (missing("actor_rollout_ref.actor.ppo_micro_batch_size")) what = "actor.ppo_micro_batch_size_per_gpu";
  const bool rollout_dynamic = is_true(view.get("actor_rollout_ref.rollout.log_prob_use_dynamic_bsz"));
  if (what.empty() && !rollout_dynamic && missing("actor_rollout_ref.rollout.log_prob_micro_batch_size"))
    what = "rollout.log_prob_micro_batch_size_per_gpu";
  const bool reference =
      is_true(view.get("actor_rollout_ref.actor.use_kl_loss")) || is_true(view.get("algorithm.use_kl_in_reward"));
  const bool ref_dynamic = is_true(view.get("actor_rollout_ref.ref.log_prob_use_dynamic_bsz"));
  if (what.empty() && reference && !ref_dynamic && missing("actor_rollout_ref.ref.log_prob_micro_batch_size"))
    what = "ref.log_prob_micro_batch_size_per_gpu";
  if (!what.empty()) hits.root("actor_rollout_ref." + what + " is missing.", "actor_rollout_ref." + what + "=4");
}

void rollout_name(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  const Launch* launch = input.launch_of("verl.trainer.main_ppo");
  if (launch == nullptr || !view.complete || view.get("actor_rollout_ref.rollout.name") != nullptr) return;
  if (input.context.known_at_least("verl", "0.6")) hits.root();
}

void rollout_tp(const Input& input, Hits& hits) {
  const VerlView view = verl_view(input);
  const Node* node = view.get("actor_rollout_ref.rollout.tensor_model_parallel_size");
  const auto tp = integer_of(node), dp = number(view, "actor_rollout_ref.rollout.data_parallel_size", 1);
  const auto pp = number(view, "actor_rollout_ref.rollout.pipeline_model_parallel_size", 1), world = gpus(view);
  if (view.sft || !tp || *tp <= 0 || *tp > 100000 || !dp || !pp || !world) return;
  if (*world % (*tp * *dp * *pp) != 0) {
    hits.at(*node, std::to_string(*tp * *dp * *pp) + " does not divide " + std::to_string(*world) + " GPUs.");
  }
}

}  // namespace

Rules verl_batch_rules() {
  return {
      {"verl-sp-needs-remove-padding", Severity::kError, kVerlOverrides, needs_remove_padding},
      {"verl-batch-not-divisible", Severity::kError, kVerlOverrides, batch_not_divisible},
      {"verl-mini-batch-exceeds-train-batch", Severity::kError, kVerlOverrides, mini_exceeds},
      {"verl-micro-batch-both-set", Severity::kError, kVerlOverrides, both_micro},
      {"verl-micro-batch-missing", Severity::kError, kVerlOverrides, micro_missing},
      {"verl-rollout-name-missing", Severity::kError, kVerlOverrides, rollout_name},
      {"verl-rollout-tp-not-dividing", Severity::kError, kVerlOverrides, rollout_tp},
  };
}

}  // namespace fx::knowledge
