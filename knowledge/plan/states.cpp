#include "knowledge/plan/states.h"

#include <algorithm>

namespace fx::knowledge::plan {
namespace {

// Adapters are kept in fp32 by the usual libraries: weight 4, gradient 4, two moments 8.
constexpr double kAdapterWeight = 4, kAdapterGrad = 4, kAdapterState = 8;
// DeepSpeed's ZeRO-3 steps on groups of 1e9 elements, whose gradients it flattens and casts to fp32, and keeps up to
// 1e9 gathered parameters (its documented defaults).
constexpr double kZeroSubGroup = 1e9, kZeroLive = 1e9;

struct PerParam {
  double weight = 0, grad = 0, state = 0, temp = 0;
};

// Bytes a trainable parameter of the base model, before sharding.
PerParam per_param(const Setting& s) {
  PerParam p;
  p.state = optimizer_bytes(s.optimizer, s.master_bytes);
  // DeepSpeed does not train under autocast: who asks for it uses PyTorch's ZeroRedundancyOptimizer.
  const bool copies = (is_deepspeed(s.sharding) && !s.amp_asked) || s.sharding == Sharding::kMegatron;
  if (copies && s.master_bytes > s.param_bytes) {
    p.weight = s.param_bytes;
    // Megatron accumulates in the dtype of its reduction; DeepSpeed in the parameters' (grad_accum_dtype), unless
    // asked.
    const bool wide = s.sharding == Sharding::kMegatron || s.tuned || is_three_dimensional(s) || s.reduce_asked;
    p.grad = wide && s.sharding != Sharding::kZero2 && s.sharding != Sharding::kZero3 ? s.reduce_bytes : s.param_bytes;
    p.state += s.master_bytes;
  } else {
    p.weight = p.grad = s.master_bytes;
    // DeepSpeed's masters are a flat copy in 16 bits too (bf16_master_weights_and_grads).
    if (is_deepspeed(s.sharding) && !s.amp_asked && s.param_bytes < 4) p.state += s.master_bytes;
    // The multi-tensor step materialises one temporary as large as the parameters.
    if (s.optimizer == Optimizer::kAdamw && !copies) p.temp = s.master_bytes;
  }
  if (s.optimizer_in_backward) p.grad = p.temp = 0;
  return p;
}

void add_full(const RankModel& m, const Setting& s, const Shards& n, States& out) {
  const PerParam p = per_param(s);
  const double stepped = m.sharded(n.optimizer, s.ep);
  out.stepped = stepped;
  out.weights = p.weight * m.sharded(n.weights, s.ep);
  out.grads = p.grad * m.sharded(n.grads, s.ep);
  out.optimizer = p.state * stepped;
  out.step_temp = p.temp * stepped;
  const double cast = s.master_bytes > s.param_bytes ? 4 : 0;
  if (s.sharding == Sharding::kZero3) out.step_temp = (s.param_bytes + cast) * std::min(kZeroSubGroup, stepped);
  // ZeRO-1 and 2 flatten the averaged gradients and cast them to fp32; Transformer Engine's Adam reads them as they
  // are.
  const bool flattened = (s.sharding == Sharding::kZero1 && p.grad < 4 && !s.tuned) || s.sharding == Sharding::kZero2;
  if (flattened && s.master_bytes > s.param_bytes) out.step_temp = (s.param_bytes + 4) * stepped;
}

void add_lora(const RankModel& m, const Setting& s, const Shards& n, States& out) {
  const double share = m.layers / m.shape.layers / s.tp;
  const double adapters = s.lora_params * share;
  const double quantized = s.quant == Quant::kNone ? 0 : m.quantizable;
  const double rest = m.params() - quantized - s.saved_params;
  out.stepped = (adapters + s.saved_params) / n.optimizer;
  const double rest_bytes = widens_rest(s) || s.wide_shards ? 4 : s.stored_bytes();
  const double packed = quantized > 0 ? m.expert_params : 0, plain = m.expert_params - packed;
  out.weights = (quant_bytes(s.quant) * packed + rest_bytes * plain) / RankModel::expert_ranks(n.weights, s.ep) +
                (quant_bytes(s.quant) * (quantized - packed) + rest_bytes * (rest - plain) + kAdapterWeight * adapters +
                 (s.stored_bytes() + s.master_bytes) * s.saved_params) /
                    n.weights;
  out.grads = (kAdapterGrad * adapters + s.master_bytes * s.saved_params) / n.grads;
  const double state = std::min(kAdapterState, optimizer_bytes(s.optimizer, kAdapterWeight));
  out.optimizer = (state * adapters + optimizer_bytes(s.optimizer, s.master_bytes) * s.saved_params) / n.optimizer;
  out.step_temp = s.optimizer == Optimizer::kAdamw
                      ? (kAdapterWeight * adapters + s.master_bytes * s.saved_params) / n.optimizer
                      : 0;
  if (quantized > 0) out.quant_temp = s.param_bytes * m.shape.hidden * std::max(m.shape.mlp, m.shape.expert_mlp) / s.tp;
}

// PyTorch's DDP copies gradients into buckets, as many bytes again, unless gradient_as_bucket_view (off by default).
void add_buckets(const Setting& s, States& out) {
  if (s.sharding == Sharding::kDdp) out.buckets = out.grads;
}

// PyTorch's linear function keeps a view of the weight for backward, which outlives ZeRO-3's release of the parameter.
// DeepSpeed puts its own in place where the model is built inside zero.Init, as a Trainer's from_pretrained does, and
// for models built before only since DeepSpeed#8189.
bool graph_keeps_weights(const Setting& s) {
  return s.sharding == Sharding::kZero3 && s.checkpointing == Checkpointing::kNone && s.quant == Quant::kNone;
}

void add_gathered(const RankModel& m, const Setting& s, const Shards& n, States& out) {
  if (!is_fsdp(s.sharding)) {
    // Autocast keeps a low-precision copy of every weight from forward to the end of backward.
    if (s.amp && s.method == Method::kFull && s.master_bytes > s.param_bytes) out.gathered = s.param_bytes * m.params();
    return;
  }
  const double unit = is_lora(s) && s.quant != Quant::kNone ? quant_bytes(s.quant) : s.stored_bytes();
  const double compute = s.fp8 && !is_lora(s) ? s.param_bytes : unit;
  if (n.weights <= 1 && s.master_bytes <= s.param_bytes) return;
  out.gathered = 2 * compute * m.layer_params + s.stored_bytes() * m.root_params;
  if (s.sharding == Sharding::kZero3) out.gathered = s.param_bytes * std::min(m.params(), kZeroLive);
  if (!s.reshard || s.gathered_step()) out.kept_gathered = compute * m.block_params;
  if (graph_keeps_weights(s)) out.graph_weights = std::max(0.0, s.param_bytes * m.params() - out.gathered);
  out.kept_gathered += out.graph_weights;
  // FSDP1's no_sync, which the usual trainers accumulate under, keeps the adapters' gradients whole.
  const bool whole = is_lora(s) && s.sharding == Sharding::kFsdp1 && s.grad_accum > 1;
  if (whole) out.whole_grads = kAdapterGrad * s.lora_params * m.layers / m.shape.layers / s.tp;
  if (is_lora(s)) return;
  out.unit_grad = (s.param_bytes + s.reduce_bytes) * m.layer_params;
  out.root_reduce = (s.param_bytes + s.reduce_bytes) * m.root_params;
  if (s.gathered_step()) out.whole_grads = s.reduce_bytes * m.params();
  // FSDP1 cannot accumulate into gradients that were moved to the host: they stay whole on the device.
  const bool stuck = s.offload && s.grad_accum > 1 && s.sharding == Sharding::kFsdp1;
  if (stuck) out.whole_grads = s.param_bytes * m.params();
}

}  // namespace

double quant_bytes(Quant quant) {
  switch (quant) {
    case Quant::kNone:
      return 2;
    case Quant::kNf4:
      return 0.5 + 4.0 / 64;  // one fp32 scale a block of 64
    case Quant::kNf4Double:
      return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);  // scales quantised to 8 bits
    case Quant::kGptqInt4:
      return 0.5 + 2.5 / 128;  // fp16 scale and 4-bit zero a group of 128
    case Quant::kInt8:
      return 1.0;
  }
  return 2;
}

double optimizer_bytes(Optimizer optimizer, double master_bytes) {
  switch (optimizer) {
    case Optimizer::kAdamw:
    case Optimizer::kAdamwFused:
      return 2 * master_bytes;
    case Optimizer::kAdamw8bit:
      return 2;
    case Optimizer::kPagedAdamw:
    case Optimizer::kPagedAdamw8bit:
      return 0;
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kAdafactor:
      return 0.05;
    case Optimizer::kLion:
    case Optimizer::kMuon:
      return master_bytes;
  }
  return 8;
}

States count_states(const RankModel& m, const Setting& s, const Machine& machine) {
  States out;
  const Shards n = shards_of(s, machine);
  if (is_lora(s)) {
    add_lora(m, s, n, out);
  } else {
    add_full(m, s, n, out);
  }
  add_buckets(s, out);
  add_gathered(m, s, n, out);
  return out;
}

}  // namespace fx::knowledge::plan
