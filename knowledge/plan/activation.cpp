#include "knowledge/plan/activation.h"

#include <algorithm>

namespace fx::knowledge::plan {
namespace {

// Bytes a 2-byte tensor entry keeps in a norm. Written in PyTorch operations it keeps an fp32 copy of its input (4),
// the scaled copy (2) and its output (2); a fused kernel or the compiler keeps input and output only.
constexpr double kNormEager = 8, kNormFused = 4;
// What a norm's weight keeps for its own gradient: nothing when it is frozen.
constexpr double kNormScaled = 2;
// Per entry of an adapted projection's input: the copy that dropout made for the adapter (2) and its mask (1). Fused
// adapter kernels have no dropout.
constexpr double kAdapterKept = 3;
// Per entry of the MLP width: gate, up, activated gate, product (2 each); without a gate: up and the activation's
// output. The compiler recomputes the activated gate.
constexpr double kGatedEager = 8, kGatedCompiled = 6, kPlain = 4;
// Gradients in flight at the MLP's backward: of the gate and of the up projection (2 each).
constexpr double kMlpGradients = 4;
// Chunks of a chunked loss (the default of torchtune and torchtitan).
constexpr double kLossChunks = 8;

// Bytes read and written in forward, per entry. Norm in operations: to fp32 (2+4), square (4+4), mean (4), scale (4+4),
// to bf16 (4+2), weight (2+2) and its reread; fused: read and write.
constexpr double kNormTrafficEager = 38, kNormTrafficFused = 4;
// Rotary embedding: two products, a half rotation, a sum; fused: read and write.
constexpr double kRopeTrafficEager = 18, kRopeTrafficFused = 4;
// Activation (2+2) and product with the gate (4+2); compiled: one pass over both.
constexpr double kGateTrafficEager = 10, kGateTrafficFused = 6, kPlainTraffic = 4;
// Residual sum: two reads and a write, twice a layer.
constexpr double kResidualTraffic = 12;
// Adapters: dropout of the input (2+2+1), scaling (2+2) and sum (4+2) of the output.
constexpr double kAdapterInput = 5, kAdapterOutput = 10;

bool fused_norms(const Setting& s) {
  return s.compile || s.loss == Loss::kFused || s.loss == Loss::kLiger || s.tuned;
}

double attention_bytes(const ModelShape& m, const Setting& s) {
  const double element = s.param_bytes;
  const double q = m.q_width(), kv = m.kv_width(), out = m.out_width();
  // Query, key, value after rotation, and the output; plus the log-sum-exp of each head.
  double bytes = element * (q + 2 * kv + out) + 4 * m.heads;
  if (m.kv_rank > 0) bytes += element * (m.q_rank + m.kv_rank) * 2;
  if (m.qk_norm) bytes += (fused_norms(s) ? 2 : 6) * (q + kv);
  return bytes;
}

double active_mlp_width(const ModelShape& m) {
  if (!m.is_moe()) return m.mlp;
  const double sparse = (m.layers - m.dense_layers) / m.layers;
  return sparse * (m.experts_per_token * m.expert_mlp + m.shared_mlp) + (1 - sparse) * m.mlp;
}

// The policy keeps every second matrix product's output (query, value, gate, down) and the attention's output.
double selective_bytes(const ModelShape& m, const Setting& s, double width) {
  return s.param_bytes * (m.hidden + m.q_width() + m.kv_width() + m.out_width() + width + m.hidden);
}

double layer_traffic(const ModelShape& m, const Setting& s, double width) {
  const bool fused = fused_norms(s);
  const double q = m.q_width(), kv = m.kv_width();
  double bytes = m.norms * m.hidden * (fused ? kNormTrafficFused : kNormTrafficEager) + kResidualTraffic * m.hidden;
  if (m.learned_positions <= 0) bytes += (fused ? kRopeTrafficFused : kRopeTrafficEager) * (q + kv);
  if (m.qk_norm) bytes += (fused ? kNormTrafficFused : kNormTrafficEager) * (q + kv);
  bytes += width * (m.gated ? (s.compile || s.tuned ? kGateTrafficFused : kGateTrafficEager) : kPlainTraffic);
  if (is_lora(s) && s.loss != Loss::kFused)
    bytes += kAdapterInput * s.adapted_width + kAdapterOutput * s.adapted_output;
  // Each token is copied to its experts and their results back, and read again where they are summed.
  if (m.is_moe()) bytes += 12 * m.experts_per_token * m.hidden;
  return bytes * s.param_bytes / 2;
}

// Whether the loss works on an fp32 copy of the logits. Families older than Llama keep the compute dtype unless
// autocast raises it.
bool upcasts(const ModelShape& m) {
  return !(m.norm_bias && !m.gated) && m.family != "qwen";
}

}  // namespace

LayerActivations layer_activations(const ModelShape& m, const Setting& s) {
  LayerActivations out;
  const double scale = s.param_bytes / 2;
  const double width = active_mlp_width(m);
  // LayerNorm is one kernel everywhere; RMSNorm is written in operations unless fused.
  const bool eager_norms = !fused_norms(s) && !m.norm_bias;
  const double norm = (eager_norms ? kNormEager - (is_lora(s) ? kNormScaled : 0) : kNormFused) * scale;
  const double mlp = m.gated ? (s.compile ? kGatedCompiled : kGatedEager) : kPlain;
  double saved = m.norms * norm * m.hidden + attention_bytes(m, s) + mlp * scale * width;
  if (m.is_moe()) saved += 2 * s.param_bytes * m.experts_per_token * m.hidden;  // dispatched copies, in and out
  if (is_lora(s) && s.loss != Loss::kFused) saved += kAdapterKept * scale * s.adapted_width;
  out.saved = saved / s.tp;
  out.input = s.param_bytes * m.hidden / s.tp;
  out.selective = std::min(out.saved, selective_bytes(m, s, width) / s.tp);
  out.work = out.saved + kMlpGradients * scale * width / s.tp;
  // Tensor parallelism gathers the block's input in front of each of its two halves.
  if (s.tp > 1) out.work += 2 * s.param_bytes * m.hidden;
  out.traffic = layer_traffic(m, s, width) / s.tp;
  return out;
}

KeptActivations kept_activations(const RankModel& model, const LayerActivations& layer, const Setting& s) {
  KeptActivations out;
  out.work = layer.work;
  switch (s.checkpointing) {
    case Checkpointing::kNone:
      out.kept = model.layers * layer.saved;
      out.work = layer.work - layer.saved;
      break;
    case Checkpointing::kSelective:
      out.kept = model.layers * layer.selective;
      break;
    case Checkpointing::kSelectiveLayer:
      out.kept = model.layers * (layer.saved + layer.input) / 2;
      break;
    case Checkpointing::kFull:
      out.kept = model.layers * layer.input;
      break;
  }
  // FSDP1 with frozen weights: a layer's recomputed tensors are still referenced when the next layer's recomputation
  // starts.
  if (is_lora(s) && s.sharding == Sharding::kFsdp1 && s.checkpointing == Checkpointing::kFull) out.work *= 2;
  return out;
}

double logits_bytes(const ModelShape& m, const Setting& s) {
  switch (s.loss) {
    case Loss::kStandard:
      if (!upcasts(m) && s.amp)
        return 18;  // logits 2, shifted copy 2, fp32 copy 4, log-softmax 4, its gradient 4, cast back 2
      // MPT shifts the labels instead of the logits: no copy.
      if (m.family == "mpt") return 6;
      if (!upcasts(m)) return 8;  // logits, shifted copy, log-softmax, gradient: 2 each
      // fp32 logits, shifted copy, log-softmax and gradient. Versions that have FSDP2 shift the labels instead of the
      // logits.
      return s.sharding == Sharding::kFsdp2 || s.sharding == Sharding::kHsdp ? 10 : 14;
    case Loss::kFused:
      if (!upcasts(m)) return s.amp ? 14 : 6;
      return 8;  // fp32 logits and their shifted copy; the gradient takes the place of the logits
    // fp32 logits, log-softmax and gradient of one chunk of 8 (the compiler fuses the first away). With FSDP2 the head
    // runs chunk by chunk too; before, all logits wait in 2 bytes.
    case Loss::kChunked: {
      const double chunk = (s.compile ? 6 : 10) / kLossChunks;
      return s.sharding == Sharding::kFsdp2 || s.sharding == Sharding::kHsdp ? chunk : 2 + chunk;
    }
    case Loss::kLiger:
      return 0.4;
  }
  return 14;
}

double logits_traffic(const ModelShape& m, const Setting& s) {
  switch (s.loss) {
    case Loss::kStandard:
      return upcasts(m) ? 46 : 24;
    case Loss::kFused:
      return upcasts(m) ? 26 : 20;
    case Loss::kChunked:
      return 30;
    case Loss::kLiger:
      return 12;
  }
  return 46;
}

}  // namespace fx::knowledge::plan
