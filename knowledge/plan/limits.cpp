// What a plan's arguments leave open, in numbers: what it may cost more, and what would settle it.
#include <algorithm>
#include <cstdio>

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

// Trainers that skip the reduction between micro-batches keep what they have not reduced yet.
void add_accumulation(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  const bool fsdp = s.sharding == Sharding::kFsdp1 || s.sharding == Sharding::kFsdp2 || s.sharding == Sharding::kHsdp;
  if (!fsdp || plan.machine.cpu || s.grad_accum <= 1 || s.gathered_step() || is_lora(s)) return;
  const double whole = s.param_bytes * rank_model(plan.shape, plan.count, s).params();
  out.push_back(
      "Gradients are taken to be reduced after each micro-batch. A trainer that accumulates without (no_sync, "
      "the default of accelerate's `accumulate`) keeps them unsharded: " +
      gib_text(whole) + " more a GPU; sync_each_batch turns that off.");
}

void add_lengths(const Plan& plan, std::vector<std::string>& out) {
  const MemoryPlan& m = plan.chosen.memory;
  if (plan.machine.cpu || plan.chosen.setting.example > 0 || m.varied < 0.1 * m.allocated) return;
  out.push_back(
      "Every batch is taken to have the same length (data.example_tokens says otherwise). Where lengths vary, the "
      "allocator keeps the blocks of shorter batches too: up to " +
      gib_text(m.reserved + m.varied) +
      " reserved. Pack or pad the sequences, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.");
}

void add_attention(const Plan& plan, std::vector<std::string>& out) {
  Setting eager = plan.chosen.setting;
  if (plan.machine.cpu || eager.attention == Attention::kEager) return;
  eager.attention = Attention::kEager;
  const double before = plan.chosen.memory.allocated;
  const double more = plan_memory(plan.shape, plan.count, eager, plan.machine).allocated - before;
  if (more < 0.1 * before) return;
  out.push_back(
      "Attention is taken to be a fused kernel (FlashAttention, SDPA). Written in operations (attention: eager) it would "
      "need " +
      gib_text(more) + " more.");
}

// Only transformers' own gradient checkpointing turns use_cache off; wrappers of FSDP leave it as config.json has it.
void add_cache(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  const bool fsdp = s.sharding == Sharding::kFsdp1 || s.sharding == Sharding::kFsdp2 || s.sharding == Sharding::kHsdp;
  if (!fsdp || plan.machine.cpu || s.keeps_cache || s.checkpointing == Checkpointing::kNone) return;
  const RankModel rank = rank_model(plan.shape, plan.count, s);
  const double bytes = rank.layers * cache_bytes(plan.shape, s) * s.tokens();
  if (bytes < 0.1 * plan.chosen.memory.allocated) return;
  out.push_back(
      "A model of transformers that is checkpointed by wrappers of FSDP, not by its own gradient_checkpointing_enable, "
      "returns keys and values of all layers, too, unless config.use_cache is false: " +
      gib_text(bytes) + " more a GPU (use_cache: true counts them).");
}

void add_experts(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  if (!plan.shape.is_moe()) return;
  out.push_back(s.loops_experts()
                    ? "Experts are taken to run one after the other, as in the model's own code; grouped products "
                      "(GroupedGEMM, ScatterMoE) are faster: the range of the speed spans both."
                    : "Experts are taken to run as grouped products with a plain exchange of tokens; fused dispatch "
                      "(DeepEP) and how evenly tokens spread over experts change the speed.");
}

void add_tensor_parallel(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  if (s.tp <= 1 || plan.machine.cpu || !s.sequence_parallel) return;
  const RankModel rank = rank_model(plan.shape, plan.count, s);
  const double copies = s.checkpointing == Checkpointing::kFull ? 1 : plan.shape.norms * 2;
  const double whole = rank.layers * copies * s.param_bytes * plan.shape.hidden * s.tokens() * (1 - 1 / s.tp);
  out.push_back(
      "Tensor parallelism is taken to divide the sequence between its products too (sequence parallelism). Without, "
      "each rank keeps all of it: about " +
      gib_text(whole) + " more for each micro-batch in flight.");
}

void add_column_inputs(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  if (s.tp <= 1 || plan.machine.cpu || !is_three_dimensional(s) || is_lora(s)) return;
  if (s.checkpointing == Checkpointing::kFull) return;
  const RankModel rank = rank_model(plan.shape, plan.count, s);
  const double flight = s.pp > 1 && s.grad_accum > 1 ? std::min(s.pp, s.grad_accum) : 1;
  const double kept = rank.layers * 2 * s.param_bytes * plan.shape.hidden * s.tokens() * (1 - 1 / s.tp) * flight;
  out.push_back(
      "Inputs of column-parallel products are taken to be gathered again in backward, as Megatron does. A stack that "
      "keeps what it gathered (nanotron without tp_recompute_allgather) needs " +
      gib_text(kept) + " more.");
}

void add_buckets(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  if (s.sharding != Sharding::kZero1 && s.sharding != Sharding::kZero2) return;
  if (s.tuned) return;
  out.push_back(
      "DeepSpeed's reduce buckets are not counted: each takes reduce_bucket_size elements (0.9 GiB at the default of "
      "5e8), two of them with overlap_comm.");
}

// Megatron and nanotron free the 16-bit gradient once it is added to the fp32 one.
void add_gradients(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  if (s.sharding != Sharding::kZero1 || is_lora(s) || s.amp) return;
  const std::string more = gib_text(s.param_bytes * rank_model(plan.shape, plan.count, s).params()) + " more a GPU.";
  if (assumes_narrow_gradients(s) && s.master_bytes > s.param_bytes) {
    out.push_back(
        "Gradients are taken to be kept and reduced in the parameters' dtype, as NVIDIA's recipes for speed do. "
        "Megatron's own default is fp32 (reduce_dtype: fp32): " +
        more);
  }
  if (s.tuned || s.reduce_bytes <= s.param_bytes) return;
  const bool wide = is_three_dimensional(s) || s.reduce_asked;
  out.push_back(
      wide ? "Gradients are taken to be kept once, in fp32. DeepSpeed's bf16 optimizer keeps 16-bit ones beside "
             "them: " +
                 more
           : "Gradients are taken to be kept in the parameters' dtype, as DeepSpeed does unless "
             "grad_accum_dtype says otherwise. Megatron accumulates in fp32 (reduce_dtype: fp32): " +
                 more);
}

void add_graph_weights(const Plan& plan, std::vector<std::string>& out) {
  const MemoryPlan& m = plan.chosen.memory;
  if (m.graph_weights < 0.1 * m.allocated) return;
  out.push_back(
      "Where nothing is checkpointed, PyTorch's graph keeps the weights that ZeRO-3 gathered from forward to backward. A "
      "model that is built inside deepspeed.zero.Init (as from_pretrained does under a Trainer whose arguments came "
      "first), or under DeepSpeed from August 2026 on, frees them: " +
      gib_text(m.graph_weights) + " less a GPU.");
}

// PyTorch's default: torch.backends.cuda.matmul.allow_tf32 is off.
void add_fp32(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  if (plan.machine.cpu || s.param_bytes < 4) return;
  Setting rounded = s;
  rounded.tf32 = true;
  const double plain = plan.chosen.speed.tokens_per_s;
  const double gain = plan_speed(plan.shape, plan.count, rounded, plan.machine).tokens_per_s / plain;
  if (gain < 1.2) return;
  char text[160];
  std::snprintf(text, sizeof text,
                "fp32 products are taken to stay off the tensor cores, PyTorch's default; "
                "torch.set_float32_matmul_precision('high') would be %.1f times faster, bf16 more.",
                gain);
  out.emplace_back(text);
}

void add_bf16(const Plan& plan, std::vector<std::string>& out) {
  const Setting& s = plan.chosen.setting;
  if (plan.machine.cpu || plan.machine.gpu.has_bf16 || s.param_bytes > 2 || s.fp16) return;
  out.push_back(
      plan.machine.gpu.name +
      " has no bf16 units: PyTorch emulates bf16 there, far slower than planned. Take fp16 with loss scaling.");
}

void add_offload(const Plan& plan, std::vector<std::string>& out) {
  if (!plan.chosen.setting.offload || plan.machine.cpu) return;
  out.push_back(
      "Buffers of CPU offload differ between library versions: the range is wide, and speed depends on the host's "
      "memory and cores, which are assumed.");
}

}  // namespace

void set_limits(Plan& plan) {
  add_accumulation(plan, plan.limits);
  add_lengths(plan, plan.limits);
  add_attention(plan, plan.limits);
  add_cache(plan, plan.limits);
  add_experts(plan, plan.limits);
  add_tensor_parallel(plan, plan.limits);
  add_column_inputs(plan, plan.limits);
  add_buckets(plan, plan.limits);
  add_gradients(plan, plan.limits);
  add_graph_weights(plan, plan.limits);
  add_fp32(plan, plan.limits);
  add_bf16(plan, plan.limits);
  add_offload(plan, plan.limits);
}

}  // namespace fx::knowledge::plan
