// The predicates of the rules, one a rule id ("optimizer-before-shard" is optimizer_before_shard).
#pragma once

#include "knowledge/code_rules/rule.h"

namespace fx::knowledge::checks {

// Processes, groups, control flow
void device_not_bound(const code::Program& program, Findings& findings);
void process_group_not_destroyed(const code::Program& program, Findings& findings);
void hardcoded_rendezvous(const code::Program& program, Findings& findings);
void rank0_long_work_default_timeout(const code::Program& program, Findings& findings);
void rank_guarded_exit(const code::Program& program, Findings& findings);
void cpu_tensor_on_nccl(const code::Program& program, Findings& findings);
void collective_under_rank_guard(const code::Program& program, Findings& findings);
void state_dict_under_rank_guard(const code::Program& program, Findings& findings);
void rank_local_skip(const code::Program& program, Findings& findings);
void uneven_batches_per_rank(const code::Program& program, Findings& findings);
void conditional_module_per_rank(const code::Program& program, Findings& findings);

// Building and sharding the model
void optimizer_before_shard(const code::Program& program, Findings& findings);
void root_sharded_before_blocks(const code::Program& program, Findings& findings);
void only_root_sharded(const code::Program& program, Findings& findings);
void forward_called_directly(const code::Program& program, Findings& findings);
void unregistered_forward_method(const code::Program& program, Findings& findings);
void full_model_on_gpu_before_shard(const code::Program& program, Findings& findings);
void meta_params_uninitialized(const code::Program& program, Findings& findings);
void buffers_lost_after_to_empty(const code::Program& program, Findings& findings);
void tied_weights_split(const code::Program& program, Findings& findings);
void mixed_dtype_group(const code::Program& program, Findings& findings);
void frozen_mixed_flat_param(const code::Program& program, Findings& findings);
void dtensor_plain_mix(const code::Program& program, Findings& findings);
void reshard_off_everywhere(const code::Program& program, Findings& findings);
void mesh_shape_mismatch(const code::Program& program, Findings& findings);
void hsdp_mesh_order_reversed(const code::Program& program, Findings& findings);
void wrap_result_discarded(const code::Program& program, Findings& findings);
void rank0_load_no_broadcast(const code::Program& program, Findings& findings);
void seed_differs_before_init(const code::Program& program, Findings& findings);
void fsdp_api_mix(const code::Program& program, Findings& findings);
void deprecated_fsdp_api(const code::Program& program, Findings& findings);
void move_after_shard(const code::Program& program, Findings& findings);
void summon_full_params_in_loop(const code::Program& program, Findings& findings);

// Precision and the optimizer step
void gradscaler_with_bf16(const code::Program& program, Findings& findings);
void fp16_scaler_wrong(const code::Program& program, Findings& findings);
void autocast_with_mp_policy(const code::Program& program, Findings& findings);
void clip_wrong_place(const code::Program& program, Findings& findings);
void clip_torch_utils_on_fsdp1(const code::Program& program, Findings& findings);
void partial_grad_norm_logged(const code::Program& program, Findings& findings);
void zero_grad_misplaced(const code::Program& program, Findings& findings);
void accum_syncs_every_microbatch(const code::Program& program, Findings& findings);
void grad_sync_never_restored(const code::Program& program, Findings& findings);
void scheduler_per_microbatch(const code::Program& program, Findings& findings);
void accum_loss_not_scaled(const code::Program& program, Findings& findings);
void mean_loss_uneven_tokens(const code::Program& program, Findings& findings);
void fsdp1_offload_accum(const code::Program& program, Findings& findings);
void offload_nccl_only_clip(const code::Program& program, Findings& findings);
void per_step_host_sync(const code::Program& program, Findings& findings);
void eval_without_no_grad(const code::Program& program, Findings& findings);

// Activation checkpointing and compile
void ac_after_shard(const code::Program& program, Findings& findings);
void reentrant_checkpoint(const code::Program& program, Findings& findings);
void use_cache_with_checkpointing(const code::Program& program, Findings& findings);
void compile_fsdp_order(const code::Program& program, Findings& findings);

// Data
void no_distributed_sampler(const code::Program& program, Findings& findings);
void missing_set_epoch(const code::Program& program, Findings& findings);
void sampler_seed_per_rank(const code::Program& program, Findings& findings);
void iterable_not_split_by_rank(const code::Program& program, Findings& findings);

// Checkpoints
void sharded_state_torch_save(const code::Program& program, Findings& findings);
void all_ranks_write_same_file(const code::Program& program, Findings& findings);
void full_state_into_sharded_model(const code::Program& program, Findings& findings);
void assign_load_after_optimizer(const code::Program& program, Findings& findings);
void strict_false_hides_mismatch(const code::Program& program, Findings& findings);
void torch_load_per_rank(const code::Program& program, Findings& findings);
void async_save_not_awaited(const code::Program& program, Findings& findings);
void async_save_no_cpu_backend(const code::Program& program, Findings& findings);
void dcp_load_not_applied(const code::Program& program, Findings& findings);
void accelerate_raw_backward(const code::Program& program, Findings& findings);

}  // namespace fx::knowledge::checks
