#include "knowledge/plan/activation.h"

#include <algorithm>

namespace fx::knowledge::plan {
namespace {

// Bytes of one width-h tensor entry that a norm keeps. Written in PyTorch operations it keeps an fp32 copy of its input
// (4), the scaled copy (2) and its output (2); a fused kernel or the compiler keeps input and output only.
constexpr double kNormEager = 8, kNormFused = 4;
// Bytes per entry of the MLP width: gate, up, activated gate, product (2 each); without a gate: up, activation's
// output. The compiler recomputes the cheap ones.
constexpr double kGatedEager = 8, kGatedCompiled = 6, kPlain = 4;
// Selective checkpointing keeps every second matrix product's output and the attention's output.
constexpr double kSelectiveShare = 0.40;
// Gradients in flight at the MLP's backward: of the gate and of the up projection.
constexpr double kMlpGradients = 2;

bool fused_kernels(const Setting& s) {
  return s.compile || s.loss == Loss::kFused || s.loss == Loss::kLiger;
}

double attention_bytes(const ModelShape& m, const Setting& s) {
  const double element = s.param_bytes;
  const double q = m.q_width(), kv = m.kv_width(), out = m.out_width();
  // Query, key, value after rotation, and the output; plus the log-sum-exp of each head.
  double bytes = element * (q + 2 * kv + out) + 4 * m.heads;
  if (m.kv_rank > 0) bytes += element * (m.q_rank + m.kv_rank) * 2;
  if (m.qk_norm) bytes += (s.compile ? 2 : 6) * (q + kv);
  return bytes;
}

double mlp_bytes(const ModelShape& m, const Setting& s, double width) {
  const double per = m.gated ? (s.compile ? kGatedCompiled : kGatedEager) : kPlain;
  return per / 2 * s.param_bytes * width;
}

double active_mlp_width(const ModelShape& m) {
  if (!m.is_moe()) return m.mlp;
  const double sparse = (m.layers - m.dense_layers) / m.layers;
  return sparse * (m.experts_per_token * m.expert_mlp + m.shared_mlp) + (1 - sparse) * m.mlp;
}

}  // namespace

LayerActivations layer_activations(const ModelShape& m, const Setting& s) {
  LayerActivations out;
  const double scale = s.param_bytes / 2;
  const double width = active_mlp_width(m);
  const double norm = (fused_kernels(s) ? kNormFused : kNormEager) * scale;
  double saved = m.norms * norm * m.hidden + attention_bytes(m, s) + mlp_bytes(m, s, width);
  // Dispatched copies of each token, one an expert, in and out of the experts.
  if (m.is_moe()) saved += 2 * s.param_bytes * m.experts_per_token * m.hidden;
  // The low-rank intermediate and the input cast of each adapter.
  if (is_lora(s)) saved += s.adapted_width * (s.amp ? 0 : s.param_bytes);
  out.saved = saved / s.tp;
  out.input = s.param_bytes * m.hidden / s.tp;
  out.selective = std::max(out.input, kSelectiveShare * out.saved);
  out.work = out.saved + kMlpGradients * s.param_bytes * width / s.tp;
  // Tensor parallelism gathers the block's input in front of each of its two halves.
  if (s.tp > 1) out.work += 2 * s.param_bytes * m.hidden;
  out.traffic = 2 * out.saved;
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

double logits_bytes(Loss loss) {
  switch (loss) {
    // bf16 logits 2, fp32 copy 4, log-softmax 4, gradient 4.
    case Loss::kStandard:
      return 14;
    // fp32 copy freed before the gradient: two fp32 tensors at a time.
    case Loss::kFused:
      return 8;
    case Loss::kChunked:
      return 4;  // bf16 logits and their gradient; fp32 only for one chunk
    case Loss::kLiger:
      return 0.4;
  }
  return 14;
}

}  // namespace fx::knowledge::plan
