#include "knowledge/code_rules/checks.h"

namespace fx::knowledge {

const std::vector<CodeRule>& code_rules() {
  static const std::vector<CodeRule> rules = {
      // Processes, groups, control flow
      {"device-not-bound", Severity::kError, checks::device_not_bound},
      {"process-group-not-destroyed", Severity::kInfo, checks::process_group_not_destroyed},
      {"hardcoded-rendezvous", Severity::kWarning, checks::hardcoded_rendezvous},
      {"rank0-long-work-default-timeout", Severity::kWarning, checks::rank0_long_work_default_timeout},
      {"rank-guarded-exit", Severity::kError, checks::rank_guarded_exit},
      {"cpu-tensor-on-nccl", Severity::kError, checks::cpu_tensor_on_nccl},
      {"collective-under-rank-guard", Severity::kError, checks::collective_under_rank_guard},
      {"state-dict-under-rank-guard", Severity::kError, checks::state_dict_under_rank_guard},
      {"rank-local-skip", Severity::kError, checks::rank_local_skip},
      {"uneven-batches-per-rank", Severity::kError, checks::uneven_batches_per_rank},
      {"conditional-module-per-rank", Severity::kWarning, checks::conditional_module_per_rank},
      // Building and sharding the model
      {"optimizer-before-shard", Severity::kError, checks::optimizer_before_shard},
      {"root-sharded-before-blocks", Severity::kError, checks::root_sharded_before_blocks},
      {"only-root-sharded", Severity::kWarning, checks::only_root_sharded},
      {"forward-called-directly", Severity::kError, checks::forward_called_directly},
      {"unregistered-forward-method", Severity::kError, checks::unregistered_forward_method},
      {"full-model-on-gpu-before-shard", Severity::kWarning, checks::full_model_on_gpu_before_shard},
      {"meta-params-uninitialized", Severity::kError, checks::meta_params_uninitialized},
      {"buffers-lost-after-to-empty", Severity::kError, checks::buffers_lost_after_to_empty},
      {"tied-weights-split", Severity::kError, checks::tied_weights_split},
      {"mixed-dtype-group", Severity::kError, checks::mixed_dtype_group},
      {"frozen-mixed-flat-param", Severity::kError, checks::frozen_mixed_flat_param},
      {"dtensor-plain-mix", Severity::kError, checks::dtensor_plain_mix},
      {"reshard-off-everywhere", Severity::kInfo, checks::reshard_off_everywhere},
      {"mesh-shape-mismatch", Severity::kError, checks::mesh_shape_mismatch},
      {"hsdp-mesh-order-reversed", Severity::kWarning, checks::hsdp_mesh_order_reversed},
      {"wrap-result-discarded", Severity::kError, checks::wrap_result_discarded},
      {"rank0-load-no-broadcast", Severity::kError, checks::rank0_load_no_broadcast},
      {"seed-differs-before-init", Severity::kWarning, checks::seed_differs_before_init},
      {"fsdp-api-mix", Severity::kError, checks::fsdp_api_mix},
      {"deprecated-fsdp-api", Severity::kInfo, checks::deprecated_fsdp_api},
      {"move-after-shard", Severity::kError, checks::move_after_shard},
      {"summon-full-params-in-loop", Severity::kWarning, checks::summon_full_params_in_loop},
      // Precision and the optimizer step
      {"gradscaler-with-bf16", Severity::kWarning, checks::gradscaler_with_bf16},
      {"fp16-scaler-wrong", Severity::kError, checks::fp16_scaler_wrong},
      {"autocast-with-mp-policy", Severity::kWarning, checks::autocast_with_mp_policy},
      {"clip-wrong-place", Severity::kError, checks::clip_wrong_place},
      {"clip-torch-utils-on-fsdp1", Severity::kError, checks::clip_torch_utils_on_fsdp1},
      {"partial-grad-norm-logged", Severity::kWarning, checks::partial_grad_norm_logged},
      {"zero-grad-misplaced", Severity::kError, checks::zero_grad_misplaced},
      {"accum-syncs-every-microbatch", Severity::kInfo, checks::accum_syncs_every_microbatch},
      {"grad-sync-never-restored", Severity::kError, checks::grad_sync_never_restored},
      {"scheduler-per-microbatch", Severity::kWarning, checks::scheduler_per_microbatch},
      {"accum-loss-not-scaled", Severity::kWarning, checks::accum_loss_not_scaled},
      {"mean-loss-uneven-tokens", Severity::kWarning, checks::mean_loss_uneven_tokens},
      {"fsdp1-offload-accum", Severity::kError, checks::fsdp1_offload_accum},
      {"offload-nccl-only-clip", Severity::kError, checks::offload_nccl_only_clip},
      {"per-step-host-sync", Severity::kInfo, checks::per_step_host_sync},
      {"eval-without-no-grad", Severity::kWarning, checks::eval_without_no_grad},
      // Activation checkpointing and compile
      {"ac-after-shard", Severity::kWarning, checks::ac_after_shard},
      {"reentrant-checkpoint", Severity::kWarning, checks::reentrant_checkpoint},
      {"use-cache-with-checkpointing", Severity::kWarning, checks::use_cache_with_checkpointing},
      {"compile-fsdp-order", Severity::kWarning, checks::compile_fsdp_order},
      // Data
      {"no-distributed-sampler", Severity::kError, checks::no_distributed_sampler},
      {"missing-set-epoch", Severity::kWarning, checks::missing_set_epoch},
      {"sampler-seed-per-rank", Severity::kError, checks::sampler_seed_per_rank},
      {"iterable-not-split-by-rank", Severity::kError, checks::iterable_not_split_by_rank},
      // Checkpoints
      {"sharded-state-torch-save", Severity::kError, checks::sharded_state_torch_save},
      {"all-ranks-write-same-file", Severity::kError, checks::all_ranks_write_same_file},
      {"full-state-into-sharded-model", Severity::kError, checks::full_state_into_sharded_model},
      {"assign-load-after-optimizer", Severity::kError, checks::assign_load_after_optimizer},
      {"strict-false-hides-mismatch", Severity::kWarning, checks::strict_false_hides_mismatch},
      {"torch-load-per-rank", Severity::kWarning, checks::torch_load_per_rank},
      {"async-save-not-awaited", Severity::kError, checks::async_save_not_awaited},
      {"async-save-no-cpu-backend", Severity::kError, checks::async_save_no_cpu_backend},
      {"dcp-load-not-applied", Severity::kError, checks::dcp_load_not_applied},
      {"accelerate-raw-backward", Severity::kError, checks::accelerate_raw_backward},
  };
  return rules;
}

}  // namespace fx::knowledge
