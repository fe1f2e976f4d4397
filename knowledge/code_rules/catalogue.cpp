#include "knowledge/code_rules/checks.h"

namespace fx::knowledge {

const std::vector<CodeRule>& code_rules() {
  static const std::vector<CodeRule> rules = {
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
