// Keys of verl's composed main_ppo configuration, of the releases 0.4 to 0.9 together.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "knowledge/formats/verl/verl.h"

namespace fx::knowledge {
namespace {

// A bare key is in every release from 0.5 on, "key+" in every one from 0.6 on, "key?" in some.
struct Row {
  std::string_view parent, keys;
};
constexpr std::string_view kFsdp = "(fsdp)";
constexpr Row kRows[] = {
    {"",
     "actor_rollout_ref algorithm critic custom_reward_function data distillation? global_profiler+ "
     "ray_init? ray_kwargs+ reward? reward_manager? reward_model sandbox_fusion? skip? trainer "
     "transfer_queue+"},
    {"actor_rollout_ref", "actor hybrid_engine model nccl_timeout+ profiler? ref rollout"},
    {"actor_rollout_ref.actor",
     "calculate_entropy? calculate_sum_pi_squared? checkpoint clip_ratio clip_ratio_c clip_ratio_high "
     "clip_ratio_low data_loader_seed? entropy_checkpointing entropy_coeff entropy_from_logits_chunk_size? "
     "entropy_from_logits_with_chunking freeze_vision_tower+ fsdp_config grad_clip kl_loss_coef "
     "kl_loss_type loss_agg_mode loss_scale_factor? optim pad_to_length? policy_loss ppo_epochs "
     "ppo_max_token_len_per_gpu ppo_micro_batch_size ppo_micro_batch_size_per_gpu ppo_mini_batch_size "
     "profiler+ qat? rollout_n? router_replay? shuffle strategy tau_neg? tau_pos? "
     "ulysses_sequence_parallel_size use_dynamic_bsz use_fused_kernels+ use_kl_loss use_prefix_grouper? "
     "use_remove_padding+ use_torch_compile"},
    {"actor_rollout_ref.actor.checkpoint", "async_save+ load_contents mbridge_config? save_contents strict?"},
    {"actor_rollout_ref.actor.optim",
     "betas+ clip_grad+ lr lr_scheduler_type+ lr_warmup_steps lr_warmup_steps_ratio min_lr_ratio "
     "num_cycles optimizer+ optimizer_impl+ override_optimizer_config+ total_training_steps warmup_style "
     "weight_decay zero_indexed_step?"},
    {"actor_rollout_ref.actor.policy_loss",
     "clip_cov_lb clip_cov_ratio clip_cov_ub dro_beta? kl_cov_ratio loss_mode ppo_kl_coef"},
    {"actor_rollout_ref.actor.qat",
     "activation_observer? enable? group_size? ignore_patterns? mode? quantization_config_path?"},
    {"actor_rollout_ref.actor.router_replay", "mode? record_file? replay_file?"},
    {"actor_rollout_ref.model",
     "custom_chat_template enable_activation_offload enable_gradient_checkpointing exclude_modules "
     "external_lib fused_kernel_options hf_config_path+ lora? lora_adapter_path+ lora_alpha lora_rank mtp? "
     "override_config path target_modules tiled_mlp? tokenizer_path+ trust_remote_code use_fused_kernels "
     "use_liger use_remove_padding use_shm"},
    {"actor_rollout_ref.model.fused_kernel_options", "impl_backend"},
    {"actor_rollout_ref.model.lora",
     "a2a_experimental? adapter_path? alpha? dropout? dropout_position? dtype? exclude_modules? "
     "freeze_language_model? freeze_vision_model? freeze_vision_projection? lora_A_init_method? "
     "lora_B_init_method? merge? rank? target_modules? type?"},
    {"actor_rollout_ref.model.mtp",
     "detach_encoder? enable? enable_rollout? enable_train? method? mtp_loss_scaling_factor? "
     "num_speculative_tokens? speculative_algorithm? speculative_eagle_topk? speculative_num_draft_tokens? "
     "speculative_num_steps?"},
    {"actor_rollout_ref.model.tiled_mlp", "enabled? num_shards?"},
    {"actor_rollout_ref.ref",
     "entropy_checkpointing entropy_from_logits_chunk_size? entropy_from_logits_with_chunking fsdp_config "
     "log_prob_max_token_len_per_gpu log_prob_micro_batch_size log_prob_micro_batch_size_per_gpu "
     "log_prob_use_dynamic_bsz model? pad_to_length? profiler+ rollout_n? router_replay? strategy "
     "ulysses_sequence_parallel_size use_torch_compile"},
    {"actor_rollout_ref.ref.router_replay", "mode? record_file? replay_file?"},
    {"actor_rollout_ref.rollout",
     "agent calculate_log_probs checkpoint_engine? cudagraph_capture_sizes+ data_parallel_size+ "
     "disable_log_stats disaggregation? do_sample dtype enable_chunked_prefill enable_prefix_caching+ "
     "enable_rollout_routing_replay? enforce_eager engine_kwargs expert_parallel_size+ free_cache_engine "
     "full_determinism? gpu_memory_utilization ignore_eos layered_summon load_format "
     "log_prob_max_token_len_per_gpu log_prob_micro_batch_size log_prob_micro_batch_size_per_gpu "
     "log_prob_use_dynamic_bsz logprobs_mode? max_model_len max_num_batched_tokens max_num_seqs mode "
     "moe_load_balance_metrics_interval? mtp? multi_stage_wake_up multi_turn n n_gpus_per_node? name "
     "nnodes? over_sample_rate+ pipeline_model_parallel_size+ profiler+ prometheus+ prompt_length qat? "
     "quantization? quantization_config_file? response_length router_config_path? scheduling_policy? seed? "
     "skip? skip_dump_dir? skip_rollout? skip_tokenizer_init+ temperature tensor_model_parallel_size top_k "
     "top_p trace update_weights_bucket_megabytes? use_fire_sampling? val_kwargs"},
    {"actor_rollout_ref.rollout.agent", "agent_loop_config_path custom_async_server default_agent_loop+ num_workers"},
    {"actor_rollout_ref.rollout.agent.custom_async_server", "name path"},
    {"actor_rollout_ref.rollout.checkpoint_engine",
     "backend? custom_backend_module? engine_kwargs? update_weights_bucket_megabytes?"},
    {"actor_rollout_ref.rollout.multi_turn",
     "completion_callback? enable format function_tool_path? interaction_config_path? max_assistant_turns "
     "max_parallel_calls max_tool_response_length max_user_turns num_repeat_rollouts+ "
     "tokenization_sanity_check_mode tool_config_path tool_response_truncate_side "
     "use_inference_chat_template"},
    {"actor_rollout_ref.rollout.trace",
     "backend experiment_name? max_samples_per_step_per_worker? project_name? token2text"},
    {"actor_rollout_ref.rollout.val_kwargs", "do_sample n temperature top_k top_p"},
    {"algorithm",
     "adv_estimator filter_groups? gamma kl_ctrl kl_penalty lam norm_adv_by_std_in_grpo pf_ppo "
     "rollout_correction+ use_kl_in_reward use_pf_ppo"},
    {"algorithm.filter_groups", "enable? max_inflight_gen_batches? max_num_gen_batches? metric?"},
    {"algorithm.kl_ctrl", "horizon kl_coef target_kl type"},
    {"algorithm.pf_ppo", "reweight_method weight_pow"},
    {"algorithm.rollout_correction",
     "bypass_mode+ loss_type? rollout_is+ rollout_is_batch_normalize+ rollout_is_threshold+ rollout_rs+ "
     "rollout_rs_threshold+ rollout_rs_threshold_lower? rollout_token_veto_threshold? use_policy_gradient?"},
    {"critic",
     "checkpoint cliprange_value data_loader_seed? enable+ forward_max_token_len_per_gpu "
     "forward_micro_batch_size forward_micro_batch_size_per_gpu fsdp? grad_clip loss_agg_mode "
     "loss_scale_factor? model optim ppo_epochs ppo_max_token_len_per_gpu ppo_micro_batch_size "
     "ppo_micro_batch_size_per_gpu ppo_mini_batch_size profiler rollout_n shuffle strategy "
     "ulysses_sequence_parallel_size use_dynamic_bsz"},
    {"critic.checkpoint", "async_save+ load_contents mbridge_config? save_contents"},
    {"critic.model",
     "custom_chat_template? enable_activation_offload enable_gradient_checkpointing exclude_modules? "
     "external_lib fsdp_config? fused_kernel_options? hf_config_path? lora? lora_adapter_path? lora_alpha "
     "lora_rank mtp? override_config path target_modules tiled_mlp? tokenizer_path trust_remote_code "
     "use_fused_kernels? use_liger? use_remove_padding use_shm"},
    {"critic.model.fused_kernel_options", "impl_backend?"},
    {"critic.model.lora",
     "a2a_experimental? adapter_path? alpha? dropout? dropout_position? dtype? exclude_modules? "
     "freeze_language_model? freeze_vision_model? freeze_vision_projection? lora_A_init_method? "
     "lora_B_init_method? merge? rank? target_modules? type?"},
    {"critic.model.mtp",
     "detach_encoder? enable? enable_rollout? enable_train? method? mtp_loss_scaling_factor? "
     "num_speculative_tokens? speculative_algorithm? speculative_eagle_topk? speculative_num_draft_tokens? "
     "speculative_num_steps?"},
    {"critic.model.tiled_mlp", "enabled? num_shards?"},
    {"critic.optim",
     "betas+ clip_grad+ lr lr_scheduler_type+ lr_warmup_steps+ lr_warmup_steps_ratio min_lr_ratio "
     "num_cycles+ optimizer+ optimizer_impl+ override_optimizer_config+ total_training_steps warmup_style "
     "weight_decay zero_indexed_step?"},
    {"custom_reward_function", "name path"},
    {"data",
     "apply_chat_template_kwargs+ audio_key? custom_cls datagen? dataloader_num_workers "
     "filter_overlong_prompts filter_overlong_prompts_workers function_tool_path? gen_batch_size? "
     "image_key image_patch_size+ max_prompt_length max_response_length mm_processor_kwargs? prompt_key "
     "return_full_prompt return_multi_modal_inputs return_raw_chat return_raw_input_ids reward_fn_key "
     "sampler? seed+ shuffle tokenizer tool_config_path+ train_batch_size train_files train_max_samples+ "
     "truncation trust_remote_code use_shm val_batch_size val_files val_max_samples+ validation_shuffle "
     "video_key"},
    {"data.custom_cls", "name path"},
    {"data.datagen", "name? path?"},
    {"data.sampler", "class_name? class_path?"},
    {"reward", "custom_reward_function? num_workers? reward_manager? reward_model? sandbox_fusion?"},
    {"reward.custom_reward_function", "name? path?"},
    {"reward.reward_manager", "module? name? source?"},
    {"reward.reward_model", "enable? enable_resource_pool? model_path? n_gpus_per_node? nnodes? rollout?"},
    {"reward.reward_model.rollout",
     "cudagraph_capture_sizes? data_parallel_size? disable_log_stats? disaggregation? do_sample? dtype? "
     "enable_chunked_prefill? enable_prefix_caching? enforce_eager? engine_kwargs? expert_parallel_size? "
     "free_cache_engine? full_determinism? gpu_memory_utilization? ignore_eos? layered_summon? "
     "limit_images? load_format? max_model_len? max_num_batched_tokens? max_num_seqs? mtp? "
     "multi_stage_wake_up? n? name? pipeline_model_parallel_size? prompt_length? quantization? "
     "quantization_config_file? response_length? scheduling_policy? seed? skip_tokenizer_init? "
     "temperature? tensor_model_parallel_size? top_k? top_p?"},
    {"reward.sandbox_fusion", "max_concurrent? memory_limit_mb? url?"},
    {"reward_manager", "module? name? source?"},
    {"reward_model",
     "enable enable_resource_pool+ forward_max_token_len_per_gpu? launch_reward_fn_async? max_length? "
     "micro_batch_size? micro_batch_size_per_gpu? model n_gpus_per_node+ nnodes+ num_workers? profiler? "
     "reward_loop_class_name? reward_loop_module_path? reward_loop_source? reward_manager rollout? "
     "sandbox_fusion? strategy? ulysses_sequence_parallel_size? use_dynamic_bsz? use_reward_loop?"},
    {"reward_model.model",
     "external_lib fsdp_config? input_tokenizer? override_config? path trust_remote_code "
     "use_fused_kernels? use_remove_padding? use_shm?"},
    {"reward_model.rollout",
     "cudagraph_capture_sizes? data_parallel_size? disable_log_stats? dtype? enable_chunked_prefill? "
     "enable_prefix_caching? enforce_eager? engine_kwargs? expert_parallel_size? free_cache_engine? "
     "gpu_memory_utilization? limit_images? load_format? max_model_len? max_num_batched_tokens? "
     "max_num_seqs? name? prompt_length? response_length? skip_tokenizer_init? tensor_model_parallel_size?"},
    {"reward_model.sandbox_fusion", "max_concurrent? memory_limit_mb? url?"},
    {"sandbox_fusion", "max_concurrent? memory_limit_mb? url?"},
    {"trainer",
     "balance_batch checkpoint_callback_class? controller_nsight_options? critic_warmup default_hdfs_dir "
     "default_local_dir del_local_ckpt_after_load device esi_redundant_time experiment_name "
     "log_val_generations logger max_actor_ckpt_to_keep max_critic_ckpt_to_keep n_gpus_per_node nnodes "
     "npu_profile? profile_steps? project_name ray_wait_register_center_timeout resume_from_path "
     "resume_mode rollout_data_dir save_freq test_freq total_epochs total_training_steps "
     "use_legacy_worker_impl? use_v1? v1? val_before_train val_only validation_data_dir "
     "worker_nsight_options?"},
    {"(fsdp)",
     "dtype+ entropy_checkpointing+ entropy_from_logits_chunk_size? entropy_from_logits_with_chunking+ "
     "forward_only+ forward_prefetch fsdp_size full_determinism? grad_offload? mixed_precision? "
     "model_dtype+ offload_policy optimizer_offload pad_to_length? pad_to_length_bucket? param_offload "
     "qat? reshard_after_forward seed? strategy+ turbo_config? ulysses_sequence_parallel_size+ "
     "use_no_sync_for_gradient_accumulation? use_orig_params+ use_torch_compile+ wrap_policy"},
    {"(fsdp).wrap_policy", "min_num_params transformer_layer_cls_to_wrap?"},
};

std::map<std::string_view, VerlKeys> read_rows() {
  std::map<std::string_view, VerlKeys> out;
  for (const Row& row : kRows) {
    VerlKeys& keys = out[row.parent];
    for (std::string_view word : split(row.keys, ' ')) {
      VerlKeyAge age = VerlKeyAge::kAlways;
      if (word.back() == '+') age = VerlKeyAge::kRecent;
      if (word.back() == '?') age = VerlKeyAge::kSometimes;
      if (age != VerlKeyAge::kAlways) word.remove_suffix(1);
      keys.names.emplace_back(word);
      keys.ages.push_back(age);
    }
  }
  return out;
}

}  // namespace

const VerlKeys* verl_keys(std::string_view parent) {
  static const std::map<std::string_view, VerlKeys> table = read_rows();
  std::string name(parent);
  for (const std::string_view fsdp : {"actor_rollout_ref.actor.fsdp_config", "actor_rollout_ref.ref.fsdp_config",
                                      "critic.model.fsdp_config", "critic.fsdp", "reward_model.model.fsdp_config"}) {
    if (parent.substr(0, fsdp.size()) == fsdp && (parent.size() == fsdp.size() || parent[fsdp.size()] == '.')) {
      name = std::string(kFsdp) + std::string(parent.substr(fsdp.size()));
    }
  }
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

std::optional<VerlKeyAge> VerlKeys::age(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return ages[static_cast<std::size_t>(found - names.begin())];
}

}  // namespace fx::knowledge
