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

void unknown_key(const Input& input, Hits& hits) {
  static const std::vector<std::string> known = {"output_dir",
                                                 "model",
                                                 "tokenizer",
                                                 "checkpointer",
                                                 "resume_from_checkpoint",
                                                 "save_adapter_weights_only",
                                                 "dataset",
                                                 "dataset_val",
                                                 "run_val_every_n_steps",
                                                 "batch_size_val",
                                                 "seed",
                                                 "shuffle",
                                                 "optimizer",
                                                 "lr_scheduler",
                                                 "loss",
                                                 "epochs",
                                                 "batch_size",
                                                 "max_steps_per_epoch",
                                                 "gradient_accumulation_steps",
                                                 "clip_grad_norm",
                                                 "compile",
                                                 "metric_logger",
                                                 "log_every_n_steps",
                                                 "log_peak_memory_stats",
                                                 "log_level",
                                                 "device",
                                                 "dtype",
                                                 "enable_activation_checkpointing",
                                                 "enable_activation_offloading",
                                                 "activation_offloading_use_streams",
                                                 "profiler",
                                                 "fsdp_cpu_offload",
                                                 "fsdp_reshard_after_forward",
                                                 "custom_sharded_layers",
                                                 "data_parallel_shard_dim",
                                                 "data_parallel_replicate_dim",
                                                 "tensor_parallel_dim",
                                                 "tensor_parallel_plan",
                                                 "context_parallel_dim",
                                                 "optimizer_in_bwd",
                                                 "enable_fp8_training",
                                                 "fp8_recipe_name",
                                                 "enable_async_checkpointing",
                                                 "cudnn_deterministic_mode",
                                                 "ac_mode",
                                                 "ac_option",
                                                 "memory_efficient_fsdp_wrap",
                                                 "collate_fn",
                                                 "packed",
                                                 "max_seq_len",
                                                 "teacher_model",
                                                 "teacher_checkpointer",
                                                 "kd_loss",
                                                 "kd_ratio",
                                                 "ref_checkpointer",
                                                 "reference_model",
                                                 "rollout",
                                                 "num_output_chunks",
                                                 "quantizer",
                                                 "save_every_n_steps",
                                                 "save_last_epoch_only",
                                                 "use_loss_parallel_ctx_manager",
                                                 "dataloader",
                                                 "num_workers",
                                                 "metric_logger_val",
                                                 "temperature",
                                                 "top_k",
                                                 "prompt",
                                                 "instruct_template",
                                                 "mlflow",
                                                 "run_name",
                                                 "project",
                                                 "expert_parallel_dim",
                                                 "optimizer_cpu_offload",
                                                 "keep_last_n_checkpoints"};
  for (const Node& child : input.root().children) {
    if (std::find(known.begin(), known.end(), child.name) != known.end()) continue;
    if (contains(input.text, "${" + child.name + "}") || contains(input.text, "${" + child.name + ".")) continue;
    const bool component = child.is_map() && child.find("_component_") != nullptr;
    const auto near = nearest(child.name, known);
    if (near && !component) hits.at(child, "The nearest key a recipe reads is " + *near + ".", "Write " + *near + ".");
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
