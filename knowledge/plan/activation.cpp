#include "knowledge/plan/activation.h"

#include <algorithm>

#include "knowledge/plan/attention.h"

namespace fx::knowledge::plan {
namespace {

// Bytes an entry keeps in a norm. Written in PyTorch operations it keeps its input in fp32; a fused kernel or the
// compiler the input itself. A trained weight keeps the scaled copy for its own gradient, too (2-byte entries).
constexpr double kNormEager = 4, kNormFused = 2, kNormScaled = 2;
// Per entry of a trained projection's input: a frozen one needs its weight only. bitsandbytes' products keep the input
// of a frozen weight nevertheless, those of 8 bits its quantised copy (1) too, as attributes of the graph's node.
// Under fp8 the compiler keeps the cast input, which is smaller (torchao).
constexpr double kInput = 2, kNf4Input = 2, kInt8Input = 3, kFp8Input = 1;
// Per entry of an adapted projection's input: the mask of the copy that dropout made for the adapter. Fused adapter
// kernels have no dropout.
constexpr double kAdapterMask = 1;
// Per entry of the MLP width: gate, up and activated gate (2 each); without a gate: up. The compiler recomputes the
// activated gate. The down projection's input comes on top.
constexpr double kGatedEager = 6, kGatedCompiled = 4, kPlain = 2;
// The same of gpt-oss, which clamps gate and up and shifts up: both before, gate after, its sigmoid, their product, up.
constexpr double kGatedClamped = 12;
// Gradients in flight at the MLP's backward, per entry of its width: of the product, the activated gate and up (2
// each); without a gate of the activation's output and input. A trained down projection has given its input back then.
constexpr double kGatedGradients = 6, kPlainGradients = 4;
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

// Three-dimensional stacks have a fused norm kernel each (apex, Transformer Engine, Triton).
bool fused_norms(const Setting& s) {
  return s.compile || s.loss == Loss::kFused || s.loss == Loss::kLiger || s.tuned || is_three_dimensional(s);
}

// They also gather a column projection's input again in backward, where others keep the gathered one.
bool gathers_again(const Setting& s) {
  return s.tuned || is_three_dimensional(s);
}

double attention_bytes(const ModelShape& m, const Setting& s) {
  const double element = element_bytes(s);
  const double q = m.q_width(), kv = m.kv_width(), out = m.out_width();
  // Query, key, value after rotation, and the output; plus the log-sum-exp of each head.
  double bytes = element * (q + 2 * kv + out) + 4 * m.heads;
  if (m.kv_rank > 0) bytes += element * (m.q_rank + m.kv_rank) * 2;
  if (m.qk_norm) bytes += (fused_norms(s) ? 2 : 6) * (q + kv);
  // The value is a view of the fused projection's output, so query and key before rotation stay with it.
  if (m.fused_qkv && m.learned_positions <= 0) bytes += element * (q + kv);
  return bytes;
}

// Copies of a quantised projection's input: one for backward. A training loop of its own still holds the last loss, and
// with it the last graph, while the next forward runs; trainers with one function a step (and no loss of their own) do
// not.
double quantized_input(const Setting& s) {
  const double kept = s.quant == Quant::kInt8 ? kInt8Input : s.quant == Quant::kGptqInt4 ? 0 : kNf4Input;
  const bool held = s.own_loop && s.checkpointing == Checkpointing::kNone;
  return kept * (held ? 2 : 1);
}

// Bytes an entry of an adapter's own copy of its input: peft casts it to the adapters' fp32, unless autocast casts it
// back or sharding keeps one dtype. Liger's kernels come with a Trainer, whose 16-bit runs are under autocast.
double adapter_copy(const Setting& s) {
  const bool fp32 = s.sharding == Sharding::kNone && !s.amp_asked && !s.own_loop && s.master_bytes > s.param_bytes &&
                    s.loss != Loss::kLiger;
  return fp32 ? 4 : element_bytes(s);
}

// What projections keep of their inputs: the normed tensors in front of attention and MLP, and the product in front of
// the down projection. The attention's output is kept by the attention.
double input_bytes(const ModelShape& m, const Setting& s, double width) {
  const double inputs = std::min(2.0, m.norms) * m.hidden + width, scale = s.param_bytes / 2;
  if (!is_lora(s)) return scale * (s.fp8 && s.compile && !s.tuned ? kFp8Input : kInput) * inputs;
  const double quantized = s.quant == Quant::kNone ? 0 : scale * quantized_input(s) * inputs;
  return quantized + (s.loss == Loss::kFused ? scale * kInput * s.adapter_inputs
                                             : (adapter_copy(s) + kAdapterMask) * s.adapted_width);
}

double active_mlp_width(const ModelShape& m) {
  if (!m.is_moe()) return m.mlp;
  const double sparse = (m.layers - m.dense_layers) / m.layers;
  return sparse * (m.experts_per_token * m.expert_mlp + m.shared_mlp) + (1 - sparse) * m.mlp;
}

// The policy keeps every second matrix product's output (query, value, gate, down) and the attention's output.
double selective_bytes(const ModelShape& m, const Setting& s, double width) {
  return element_bytes(s) * (m.hidden + m.q_width() + m.kv_width() + m.out_width() + width + m.hidden);
}

// Norms and sums between tensor-parallel products are done for the rank's part of the tokens, or for all of them;
// what lies inside attention and MLP is divided anyway.
double layer_traffic(const ModelShape& m, const Setting& s, double width) {
  const bool fused = fused_norms(s);
  const double q = m.q_width(), kv = m.kv_width();
  const double norm = fused || m.norm_bias ? kNormTrafficFused : kNormTrafficEager;
  const double between = m.norms * m.hidden * norm + kResidualTraffic * m.hidden;
  double bytes = 0;
  if (m.learned_positions <= 0) bytes += (fused ? kRopeTrafficFused : kRopeTrafficEager) * (q + kv);
  if (m.qk_norm) bytes += (fused ? kNormTrafficFused : kNormTrafficEager) * (q + kv);
  bytes += width * (m.gated ? (s.compile || s.tuned ? kGateTrafficFused : kGateTrafficEager) : kPlainTraffic);
  if (is_lora(s) && s.loss != Loss::kFused)
    bytes += kAdapterInput * s.adapted_width + kAdapterOutput * s.adapted_output;
  // Each token is copied to its experts and their results back, and read again where they are summed.
  if (m.is_moe()) bytes += 12 * m.experts_per_token * m.hidden;
  const double share = s.sequence_parallel ? 1 / s.tp : 1;
  return (between * share + bytes / s.tp) * element_bytes(s) / 2 + attention_scores(m, s).traffic;
}

// Bytes that the loss reads and writes an entry of the logits, the head's own products left out. In fp32: cast (2+4),
// log-softmax (4+4), its gradient (4, 4+4+4), cast back (4+2). In 2 bytes: log-softmax (2+2), gradient (2, 2+2+2).
constexpr double kLossTraffic = 36, kNarrowLossTraffic = 12;
// Labels that are shifted by copying the logits: a copy forward, a filled and a copied gradient, in bytes of an entry.
constexpr double kShiftPasses = 5;
// Fused cross-entropy: cast and shifted copy in fp32 (2+4, 4+4), read once, gradient in its place (4+4); in 2 bytes.
constexpr double kFusedLossTraffic = 26, kNarrowFusedLossTraffic = 20;
// Liger: chunks of logits are read twice, their gradient written over them and read by two products.
constexpr double kLigerTraffic = 12;

// Trainers of the newer FSDP: their loops shift the labels, and run the head chunk by chunk where the loss is chunked.
bool newer_loop(const Setting& s) {
  return s.sharding == Sharding::kFsdp2 || s.sharding == Sharding::kHsdp;
}

// Whether labels are shifted by copying the logits: by a model of transformers alone. Loops that split sequences,
// layers or the model over ranks shift the labels before. The compiler needs no copy to read at an offset.
bool copies_logits(const Setting& s) {
  return !newer_loop(s) && !s.compile && s.tp * s.pp * s.cp <= 1;
}

// Whether the loss works on an fp32 copy of the logits. Families older than Llama keep the compute dtype unless
// autocast raises it.
bool upcasts(const ModelShape& m) {
  return !(m.norm_bias && !m.gated) && m.family != "qwen";
}

// Liger's loss alone, or with its activation, which recomputes and writes gradients in place, and with adapters that
// share their inputs: no argument says.
double spared_by_kernels(const ModelShape& m, const Setting& s, double width) {
  if (s.loss != Loss::kLiger || s.compile || !m.gated) return 0;
  const double scale = element_bytes(s) / 2, gate = (kGatedEager - kGatedCompiled) + (kGatedGradients - kInput);
  const double copies = (adapter_copy(s) + kAdapterMask) * s.adapted_width - scale * kInput * s.adapter_inputs;
  return (scale * gate * width + (is_lora(s) ? std::max(0.0, copies) : 0)) / s.tp;
}

}  // namespace

LayerActivations layer_activations(const ModelShape& m, const Setting& s) {
  LayerActivations out;
  const double scale = element_bytes(s) / 2;
  const double width = active_mlp_width(m);
  // LayerNorm is one kernel everywhere; RMSNorm is written in operations unless fused.
  const bool eager_norms = !fused_norms(s) && !m.norm_bias;
  const double norm = eager_norms ? kNormEager + (is_lora(s) ? 0 : kNormScaled * scale) : kNormFused * scale;
  const bool clamped = m.family == "gpt_oss" && !s.tuned;
  const double gated = s.compile ? kGatedCompiled : clamped ? kGatedClamped : kGatedEager;
  const double mlp = m.gated ? gated : kPlain;
  const double norms = m.norms * norm * m.hidden;
  double saved = norms + attention_bytes(m, s) + mlp * scale * width;
  if (m.is_moe()) saved += 2 * s.param_bytes * m.experts_per_token * m.hidden;  // dispatched copies, in and out
  saved += input_bytes(m, s, width);
  const Scores scores = attention_scores(m, s);
  out.saved = saved / s.tp + scores.saved;
  const double others = 1 - 1 / s.tp;
  // Tensor parallelism keeps the gathered inputs of its two trained column projections.
  if (s.tp > 1 && !gathers_again(s) && !is_lora(s)) out.saved += kInput * scale * 2 * m.hidden * others;
  if (!s.sequence_parallel) out.saved += norms * others;
  // The sum of blocks stays in fp32 where autocast does not reach the embedding.
  out.input = (s.wide_params ? 4 : element_bytes(s)) * m.hidden / (s.sequence_parallel ? s.tp : 1);
  out.selective = std::min(out.saved, selective_bytes(m, s, width) / s.tp);
  const double in_flight = (m.gated ? kGatedGradients : kPlainGradients) - (is_lora(s) ? 0 : kInput);
  // In a loop over experts backward is at one of them at a time.
  const double at_once = m.is_moe() && s.loops_experts() ? m.experts / s.ep : 1;
  const double mlp_work = in_flight * scale * width / at_once / s.tp;
  // Backward comes to attention when it is through with the MLP's own tensors.
  const double attention_work = scores.in_flight - mlp * scale * width / s.tp;
  out.work = out.saved + std::max(mlp_work, attention_work);
  // What tensor parallelism gathers in front of one half of the block: its input, unless that is kept, and gradient.
  if (s.tp > 1) out.work += (gathers_again(s) || is_lora(s) ? 2 : 1) * s.param_bytes * m.hidden;
  out.spared = spared_by_kernels(m, s, width);
  out.traffic = layer_traffic(m, s, width);
  return out;
}

double cache_bytes(const ModelShape& m, const Setting& s) {
  return 2 * element_bytes(s) * m.kv_width() / s.tp;
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
  // Attention keeps the same tensors where nothing is recomputed.
  if (s.keeps_cache && s.checkpointing != Checkpointing::kNone) out.kept += model.layers * cache_bytes(model.shape, s);
  // FSDP1 with frozen weights: a layer's recomputed tensors are still referenced when the next layer's recomputation
  // starts.
  if (is_lora(s) && s.sharding == Sharding::kFsdp1 && s.checkpointing == Checkpointing::kFull) out.work *= 2;
  return out;
}

double logits_bytes(const ModelShape& m, const Setting& s) {
  switch (s.loss) {
    case Loss::kStandard:
      if (widens_rest(s)) return 16;  // logits of an fp32 head, shifted copy, log-softmax, gradient
      if (!upcasts(m) && s.amp)
        return 18;  // logits 2, shifted copy 2, fp32 copy 4, log-softmax 4, its gradient 4, cast back 2
      // MPT shifts the labels instead of the logits: no copy.
      if (m.family == "mpt") return 6;
      if (!upcasts(m)) return 8;  // logits, shifted copy, log-softmax, gradient: 2 each
      // Forward: logits, their fp32 and shifted copies, log-softmax; where the labels are shifted instead, one less,
      // and backward needs more: log-softmax and two gradients in fp32. Compilers and losses of three-dimensional
      // stacks work in place.
      return copies_logits(s) ? 14 : s.compile || is_three_dimensional(s) ? 10 : 12;
    case Loss::kFused:
      if (!upcasts(m)) return s.amp ? 14 : 6;
      return 8;  // fp32 logits and their shifted copy; the gradient takes the place of the logits
    // fp32 logits, log-softmax and gradient of one chunk of 8 (the compiler fuses the first away). With FSDP2 the head
    // runs chunk by chunk too; before, all logits wait in 2 bytes.
    case Loss::kChunked: {
      const double chunk = (s.compile ? 6 : 10) / kLossChunks;
      return newer_loop(s) ? chunk : 2 + chunk;
    }
    case Loss::kLiger:
      return 0.4;
  }
  return 14;
}

double logits_traffic(const ModelShape& m, const Setting& s) {
  switch (s.loss) {
    case Loss::kStandard: {
      const double shift = copies_logits(s) && m.family != "mpt" ? kShiftPasses : 0;
      return upcasts(m) ? kLossTraffic + 4 * shift : kNarrowLossTraffic + 2 * shift;
    }
    case Loss::kFused:
      return upcasts(m) ? kFusedLossTraffic : kNarrowFusedLossTraffic;
    case Loss::kChunked:
      return kLossTraffic;
    case Loss::kLiger:
      return kLigerTraffic;
  }
  return kLossTraffic;
}

}  // namespace fx::knowledge::plan
