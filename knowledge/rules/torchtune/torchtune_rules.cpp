// torchtune recipes.
#include <algorithm>

#include "base/text.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

const Node* top(const Input& input, std::string_view name) {
  return input.root().find(name);
}
long long size(const Input& input, std::string_view name, long long fallback = 1) {
  return integer_of(top(input, name)).value_or(fallback);
}

void fp16(const Input& input, Hits& hits) {
  const std::string dtype = text_of(top(input, "dtype"));
  if (dtype == "fp16" || dtype == "float16") hits.at(*top(input, "dtype"));
}

void bwd_accum(const Input& input, Hits& hits) {
  const Node* node = top(input, "optimizer_in_bwd");
  if (is_true(node) && size(input, "gradient_accumulation_steps") > 1) hits.at(*node);
}

void bwd_clip(const Input& input, Hits& hits) {
  const Node* node = top(input, "optimizer_in_bwd");
  if (is_true(node) && is_set(top(input, "clip_grad_norm"))) hits.at(*node);
}

void offload_needs_ac(const Input& input, Hits& hits) {
  const Node* node = top(input, "enable_activation_offloading");
  if (is_true(node) && !is_true(top(input, "enable_activation_checkpointing"))) hits.at(*node);
}

void tp_plan(const Input& input, Hits& hits) {
  const Node* node = top(input, "tensor_parallel_dim");
  if (size(input, "tensor_parallel_dim") > 1 && !is_set(top(input, "tensor_parallel_plan"))) hits.at(*node);
}

void dims_mismatch(const Input& input, Hits& hits) {
  const auto world = input.context.world_size();
  const Node* first = nullptr;
  for (const char* name :
       {"tensor_parallel_dim", "data_parallel_shard_dim", "data_parallel_replicate_dim", "context_parallel_dim"}) {
    if (first == nullptr && is_set(top(input, name))) first = top(input, name);
  }
  const long long tp = size(input, "tensor_parallel_dim"), cp = size(input, "context_parallel_dim");
  const long long replicate = size(input, "data_parallel_replicate_dim"),
                  shard = size(input, "data_parallel_shard_dim", -1);
  if (!world || first == nullptr || tp < 1 || cp < 1 || replicate < 1 || shard == 0 || shard < -1) return;
  if (tp > 100000 || cp > 100000 || replicate > 100000 || shard > 100000) return;
  const long long rest = tp * cp * replicate;
  if (shard == -1 ? *world % rest == 0 : rest * shard == *world) return;
  hits.at(*first, "The dimensions give " + std::to_string(shard == -1 ? rest : rest * shard) + ", there are " +
                      std::to_string(*world) + " ranks.");
}

// What the recipes read at the top level, of torchtune 0.6 and later.
constexpr std::string_view kKeys =
    "ac_mode ac_option activation_offloading_use_streams batch_size batch_size_val checkpointer clip_grad_norm "
    "collate_fn compile context_parallel_dim cudnn_deterministic_mode custom_sharded_layers "
    "data_parallel_replicate_dim data_parallel_shard_dim dataloader dataset dataset_val datasets device dtype "
    "early_exit_loss enable_activation_checkpointing enable_activation_offloading enable_async_checkpointing "
    "enable_fp8_training enable_kv_cache enabled epochs expert_parallel_dim fake_quant_after_n_steps "
    "forward_batch_size fp8_recipe_name fsdp fsdp_cpu_offload fsdp_reshard_after_forward gamma "
    "gradient_accumulation_steps grpo_samples include_path instruct_template kd_loss kd_ratio "
    "keep_last_n_checkpoints kl_coeff layer_dropout limit lmbda log_every_n_steps log_level "
    "log_peak_memory_stats loss low_cpu_ram lr_scheduler max_generated_tokens max_new_tokens max_seq_len "
    "max_seq_length max_steps_per_epoch memory_efficient_fsdp_wrap metric_logger metric_logger_val "
    "min_response_length mlflow model num_output_chunks num_steps num_workers optimizer optimizer_cpu_offload "
    "optimizer_in_bwd output_dir packed penalise_no_eos policy_model ppo_batch_size ppo_epochs profiler project "
    "prompt quantizer ref_checkpointer ref_policy_checkpointer reference_model resume_from_checkpoint "
    "reward_and_value_model reward_checkpointer reward_penalty rollout run_name run_val_every_n_steps "
    "save_adapter_weights_only save_every_n_epochs save_every_n_steps save_last_epoch_only seed shuffle "
    "stop_token_ids tasks teacher_checkpointer teacher_model temperature tensor_parallel_dim "
    "tensor_parallel_plan tokenizer top_k use_loss_parallel_ctx_manager value_checkpointer warmup_steps "
    "whiten_rewards";

bool is_referenced(const Input& input, const std::string& name) {
  return contains(input.text, "${" + name + "}") || contains(input.text, "${" + name + ".");
}

void unknown_key(const Input& input, Hits& hits) {
  static const std::vector<std::string> known = [] {
    std::vector<std::string> names;
    for (const auto name : split(kKeys, ' ')) names.emplace_back(name);
    return names;
  }();
  for (const Node& child : input.root().children) {
    if (hits.full()) return;
    if (std::find(known.begin(), known.end(), child.name) != known.end()) continue;
    const auto near = nearest(child.name, known);
    // A recipe of the user's own may read more; what looks like FSDP's business is no recipe's.
    const bool ours = contains(child.name, "fsdp") || contains(child.name, "shard") || contains(child.name, "parallel");
    if ((!near && !ours) || (child.is_map() && child.find("_component_") != nullptr)) continue;
    if (is_referenced(input, child.name)) continue;
    Hit& hit = hits.at(child, near ? "The nearest key a recipe reads is " + *near + "." : "No recipe reads it.",
                       near ? "Write " + *near + "." : "Delete it.");
    if (near) hit.changes = {{Change::Kind::kRename, place_of(child), *near, "", {}}};
  }
}

void tp_streams(const Input& input, Hits& hits) {
  const Node* node = top(input, "enable_activation_offloading");
  if (is_true(node) && size(input, "tensor_parallel_dim") > 1 &&
      !is_false(top(input, "activation_offloading_use_streams")))
    hits.at(*node);
}

void unfused(const Input& input, Hits& hits) {
  const Node* fused = input.root().at("optimizer.fused");
  if (is_true(top(input, "fsdp_cpu_offload")) && is_false(fused)) hits.at(*fused);
}

}  // namespace

Rules torchtune_rules() {
  return {
      {"torchtune-fp16", Severity::kError, kTorchtuneYaml, fp16},
      {"torchtune-optim-in-bwd-grad-accum", Severity::kError, kTorchtuneYaml, bwd_accum},
      {"torchtune-optim-in-bwd-clip", Severity::kError, kTorchtuneYaml, bwd_clip},
      {"torchtune-activation-offload-needs-ac", Severity::kError, kTorchtuneYaml, offload_needs_ac},
      {"torchtune-tp-needs-plan", Severity::kError, kTorchtuneYaml, tp_plan},
      {"torchtune-parallel-dims-mismatch", Severity::kError, kTorchtuneYaml, dims_mismatch},
      {"torchtune-unknown-top-key", Severity::kWarning, kTorchtuneYaml, unknown_key},
      {"torchtune-tp-activation-offload-streams", Severity::kWarning, kTorchtuneYaml, tp_streams},
      {"torchtune-fsdp-offload-unfused", Severity::kInfo, kTorchtuneYaml, unfused},
  };
}

}  // namespace fx::knowledge
