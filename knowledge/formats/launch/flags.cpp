// The flags of torchrun and accelerate launch, as data.
#include "knowledge/formats/launch/launcher.h"

namespace fx::knowledge {

const std::vector<LaunchFlag>& torchrun_flags() {
  static const std::vector<LaunchFlag> flags = {
      {"nnodes", ""}, {"nproc_per_node", ""}, {"rdzv_backend", ""}, {"rdzv_endpoint", ""}, {"rdzv_id", ""},
      {"rdzv_conf", ""}, {"standalone", "", false}, {"max_restarts", ""}, {"monitor_interval", ""},
      {"start_method", ""}, {"event_log_handler", ""}, {"role", ""}, {"module", "m", false}, {"no_python", "", false},
      {"run_path", "", false}, {"log_dir", ""}, {"redirects", "r"}, {"tee", "t"}, {"local_ranks_filter", ""},
      {"node_rank", ""}, {"master_addr", ""}, {"master_port", ""}, {"local_addr", ""}, {"logs_specs", ""},
      {"numa_binding", ""}, {"signals_to_handle", ""}, {"duplicate_stdout_filters", ""},
      {"duplicate_stderr_filters", ""}, {"virtual_local_rank", "", false}, {"shutdown_timeout", ""},
      {"use_env", "", false}, {"use_agent_store", ""}, {"help", "h", false}};
  return flags;
}

const std::vector<LaunchFlag>& accelerate_flags() {
  static const std::vector<LaunchFlag> flags = {
      {"config_file", ""}, {"quiet", "q", false}, {"cpu", "", false}, {"multi_gpu", "", false}, {"tpu", "", false},
      {"ipex", "", false}, {"use_xpu", "", false}, {"mixed_precision", ""}, {"num_processes", ""},
      {"num_machines", ""}, {"num_cpu_threads_per_process", ""}, {"enable_cpu_affinity", "", false},
      {"dynamo_backend", ""}, {"dynamo_mode", ""}, {"dynamo_use_fullgraph", "", false},
      {"dynamo_use_dynamic", "", false}, {"dynamo_use_regional_compilation", "", false},
      {"use_deepspeed", "", false}, {"use_fsdp", "", false}, {"use_parallelism_config", "", false},
      {"use_megatron_lm", "", false}, {"gpu_ids", ""}, {"same_network", "", false}, {"machine_rank", ""},
      {"main_process_ip", ""}, {"main_process_port", ""}, {"tee", "t"}, {"log_dir", ""}, {"role", ""},
      {"rdzv_backend", ""}, {"rdzv_conf", ""}, {"max_restarts", ""}, {"monitor_interval", ""},
      {"module", "m", false}, {"no_python", "", false}, {"debug", "", false}, {"tpu_cluster", "", false},
      {"no_tpu_cluster", "", false}, {"tpu_use_sudo", "", false}, {"vm", ""}, {"env", ""}, {"downcast_bf16", "", false},
      {"main_training_function", ""}, {"deepspeed_config_file", ""}, {"zero_stage", ""},
      {"offload_optimizer_device", ""}, {"offload_param_device", ""}, {"offload_optimizer_nvme_path", ""},
      {"offload_param_nvme_path", ""}, {"gradient_accumulation_steps", ""}, {"gradient_clipping", ""},
      {"zero3_init_flag", ""}, {"zero3_save_16bit_model", ""}, {"deepspeed_hostfile", ""},
      {"deepspeed_exclusion_filter", ""}, {"deepspeed_inclusion_filter", ""}, {"deepspeed_multinode_launcher", ""},
      {"deepspeed_moe_layer_cls_names", ""}, {"fsdp_version", ""}, {"fsdp_offload_params", ""},
      {"fsdp_min_num_params", ""}, {"fsdp_sharding_strategy", ""}, {"fsdp_reshard_after_forward", ""},
      {"fsdp_auto_wrap_policy", ""}, {"fsdp_transformer_layer_cls_to_wrap", ""}, {"fsdp_backward_prefetch", ""},
      {"fsdp_state_dict_type", ""}, {"fsdp_forward_prefetch", ""}, {"fsdp_use_orig_params", ""},
      {"fsdp_cpu_ram_efficient_loading", ""}, {"fsdp_sync_module_states", ""}, {"fsdp_activation_checkpointing", ""},
      {"fsdp_ignored_modules", ""}, {"fsdp_activation_checkpointing_offload", ""}, {"megatron_lm_tp_degree", ""}, {"megatron_lm_pp_degree", ""},
      {"megatron_lm_num_micro_batches", ""}, {"megatron_lm_sequence_parallelism", ""},
      {"megatron_lm_recompute_activations", ""}, {"megatron_lm_use_distributed_optimizer", ""},
      {"megatron_lm_gradient_clipping", ""}, {"megatron_lm_context_parallel_size", ""},
      {"megatron_lm_expert_model_parallel_size", ""}, {"megatron_lm_expert_tensor_parallel_size", ""},
      {"megatron_lm_recompute_granularity", ""}, {"megatron_lm_recompute_method", ""},
      {"megatron_lm_recompute_num_layers", ""}, {"megatron_lm_attention_backend", ""},
      {"megatron_lm_optimizer_cpu_offload", ""}, {"megatron_lm_use_custom_fsdp", ""},
      {"fp8_backend", ""}, {"fp8_use_autocast_during_eval", "", false},
      {"fp8_margin", ""}, {"fp8_interval", ""}, {"fp8_format", ""}, {"fp8_amax_history_len", ""},
      {"fp8_amax_compute_algo", ""}, {"fp8_override_linear_precision", ""}, {"fp8_opt_level", ""},
      {"fp8_enable_fsdp_float8_all_gather", ""}, {"fp8_pad_inner_dim", ""}, {"aws_access_key_id", ""},
      {"aws_secret_access_key", ""}, {"mpirun_hostfile", ""}, {"mpirun_ccl", ""},
      {"parallelism_config_dp_replicate_size", ""}, {"parallelism_config_dp_shard_size", ""},
      {"parallelism_config_tp_size", ""}, {"parallelism_config_cp_size", ""}, {"parallelism_config_cp_backend", ""},
      {"parallelism_config_cp_comm_strategy", ""}, {"parallelism_config_sp_size", ""},
      {"parallelism_config_sp_backend", ""}, {"parallelism_config_sp_seq_length", ""},
      {"parallelism_config_sp_seq_length_is_variable", ""}, {"parallelism_config_sp_attn_implementation", ""},
      {"help", "h", false}};
  return flags;
}

std::vector<std::string> flag_names(const std::vector<LaunchFlag>& flags) {
  std::vector<std::string> names;
  for (const auto& flag : flags) names.emplace_back(flag.name);
  return names;
}

}  // namespace fx::knowledge
