// Keys of verl's composed configuration (0.5 to 0.8), by parent.
#include "knowledge/formats/verl/verl.h"

namespace fx::knowledge {
namespace {

struct Parent {
  std::string_view path;
  bool complete;  // every key is listed
  std::vector<std::string> keys;
};

const std::vector<std::string>& fsdp_keys() {
  static const std::vector<std::string> keys = {"wrap_policy",
                                                "param_offload",
                                                "optimizer_offload",
                                                "offload_policy",
                                                "reshard_after_forward",
                                                "fsdp_size",
                                                "forward_prefetch",
                                                "model_dtype",
                                                "dtype",
                                                "mixed_precision",
                                                "use_orig_params",
                                                "ulysses_sequence_parallel_size",
                                                "use_torch_compile",
                                                "entropy_checkpointing",
                                                "entropy_from_logits_with_chunking",
                                                "forward_only",
                                                "strategy",
                                                "seed",
                                                "full_determinism",
                                                "grad_offload",
                                                "_target_",
                                                "qat",
                                                "profiler"};
  return keys;
}

const std::vector<Parent>& parents() {
  static const std::vector<Parent> list = {
      {"actor_rollout_ref.actor.fsdp_config", true, fsdp_keys()},
      {"actor_rollout_ref.ref.fsdp_config", true, fsdp_keys()},
      {"critic.model.fsdp_config", true, fsdp_keys()},
      {"actor_rollout_ref.actor",
       false,
       {"strategy",
        "ppo_mini_batch_size",
        "ppo_micro_batch_size",
        "ppo_micro_batch_size_per_gpu",
        "use_dynamic_bsz",
        "ppo_max_token_len_per_gpu",
        "clip_ratio",
        "clip_ratio_low",
        "clip_ratio_high",
        "use_kl_loss",
        "kl_loss_coef",
        "kl_loss_type",
        "entropy_coeff",
        "ppo_epochs",
        "shuffle",
        "ulysses_sequence_parallel_size",
        "entropy_checkpointing",
        "grad_clip",
        "loss_agg_mode",
        "use_torch_compile",
        "checkpoint",
        "optim",
        "fsdp_config",
        "policy_loss"}},
      {"actor_rollout_ref.rollout",
       false,
       {"name",
        "mode",
        "temperature",
        "top_k",
        "top_p",
        "n",
        "tensor_model_parallel_size",
        "data_parallel_size",
        "pipeline_model_parallel_size",
        "gpu_memory_utilization",
        "log_prob_micro_batch_size",
        "log_prob_micro_batch_size_per_gpu",
        "log_prob_use_dynamic_bsz",
        "log_prob_max_token_len_per_gpu",
        "enforce_eager",
        "free_cache_engine",
        "max_num_batched_tokens",
        "max_model_len",
        "max_num_seqs",
        "enable_chunked_prefill",
        "load_format",
        "dtype",
        "prompt_length",
        "response_length",
        "val_kwargs",
        "multi_turn"}},
      {"actor_rollout_ref.ref",
       false,
       {"strategy", "log_prob_micro_batch_size", "log_prob_micro_batch_size_per_gpu", "log_prob_use_dynamic_bsz",
        "log_prob_max_token_len_per_gpu", "ulysses_sequence_parallel_size", "fsdp_config", "use_torch_compile"}},
      {"actor_rollout_ref.model",
       false,
       {"path", "use_remove_padding", "enable_gradient_checkpointing", "use_fused_kernels", "lora_rank", "lora_alpha",
        "target_modules", "use_liger", "trust_remote_code", "use_shm", "enable_activation_offload", "external_lib",
        "override_config"}},
      {"critic",
       false,
       {"strategy", "ppo_mini_batch_size", "ppo_micro_batch_size", "ppo_micro_batch_size_per_gpu", "use_dynamic_bsz",
        "ppo_max_token_len_per_gpu", "ulysses_sequence_parallel_size", "cliprange_value", "grad_clip", "model",
        "optim"}},
      {"data",
       false,
       {"train_files", "val_files", "train_batch_size", "val_batch_size", "max_prompt_length", "max_response_length",
        "filter_overlong_prompts", "truncation", "prompt_key", "shuffle", "return_raw_chat", "image_key", "tokenizer",
        "micro_batch_size", "micro_batch_size_per_gpu"}},
      {"trainer",
       false,
       {"n_gpus_per_node", "nnodes", "total_epochs", "total_training_steps", "project_name", "experiment_name",
        "logger", "save_freq", "test_freq", "critic_warmup", "val_before_train", "default_local_dir", "resume_mode",
        "resume_from_path", "balance_batch"}},
      {"algorithm",
       false,
       {"adv_estimator", "gamma", "lam", "use_kl_in_reward", "kl_ctrl", "kl_penalty", "norm_adv_by_std_in_grpo"}},
  };
  return list;
}

}  // namespace

const std::vector<std::string>* verl_keys(std::string_view parent, bool& complete) {
  for (const auto& row : parents()) {
    if (row.path != parent) continue;
    complete = row.complete;
    return &row.keys;
  }
  return nullptr;
}

}  // namespace fx::knowledge
