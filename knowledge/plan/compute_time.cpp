#include "knowledge/plan/compute_time.h"

#include <algorithm>
#include <cmath>

#include "knowledge/plan/activation.h"

namespace fx::knowledge::plan {
namespace {

// Backward of a bandwidth-bound operation over its forward: reads the gradient and the saved tensors, writes a
// gradient.
constexpr double kElementwiseBackward = 2;
// Backward of fused attention over forward: five matrix products for two, one of them recomputed.
constexpr double kAttentionBackward = 2.5;
// Fused attention is faster the longer the sequence: the table's rates hold up to kLong tokens, and FlashAttention-2's
// own figure, which is for long ones (on an H100 335 TFLOP/s forward and backward), from kLongest on.
constexpr double kLong = 8192, kLongest = 32768, kLongGain = 1.35;
// Attention in operations: two products whose halves above the diagonal are computed too, and four for them.
constexpr double kEagerProducts = 2, kEagerBackward = 2;
// Products whose width is no multiple of 8 entries of 2 bytes run at this share of the rate (NVIDIA, "Matrix
// Multiplication Background": tensor cores want 16-byte aligned rows). Tensor parallelism pads the vocabulary.
constexpr double kUnaligned = 0.45;
// Share of a layer's forward that selective checkpointing repeats.
constexpr double kSelectiveRecompute = 0.35;
// Hand-tuned stacks: matrix products with fused epilogues, attention kernels of the newest generation.
constexpr double kTunedGain = 1.15;
// Share of the peak that attention kernels written for the chip sustain over forward and backward (FlashAttention-3's
// paper: 0.65 and 0.55 of an H100, causal, long sequences).
constexpr double kTunedAttention = 0.5;
// Host seconds per launched operation in eager PyTorch with autograd, and under torch.compile.
constexpr double kEagerLaunch = 11e-6, kCompiledLaunch = 4e-6;
// Operations of one layer's forward; of one adapted projection.
constexpr double kLayerOps = 45, kFusedLayerOps = 30, kAdapterOps = 6;
// Operations of one expert in a loop over experts; of a grouped product over all of them.
constexpr double kExpertOps = 15, kGroupedOps = 40;
// Launches of one local expert inside a grouped product: its two products, and the casts of their inputs under fp8.
constexpr double kGroupedExpertOps = 2, kExpertCasts = 2;
// Hooks, copies and collectives of one gathered unit.
constexpr double kUnitOps = 40;
// The same of a layer's exchanges under tensor parallelism: four collectives in forward, each an operation with its own
// backward.
constexpr double kTensorOps = 40;
// ZeRO-3 fetches and releases parameter by parameter, in Python hooks.
constexpr double kZeroUnitOps = 160;
// The rank with the most popular experts gets this many times the mean load.
constexpr double kImbalance = 1.4;
// Share of the shorter of device and host time that still shows: the queue drains where the host waits for a value.
constexpr double kDrain = 0.5;
// Bytes moved per weight when a quantised matrix is expanded for one product.
constexpr double kNf4Traffic = 5, kGptqTraffic = 12;

// Bytes moved per entry to cast an operand to fp8 in both layouts: read for the largest value and for the cast, written
// twice. Hand-tuned stacks cast in the kernel before, which only writes, and weights once a step.
constexpr double kCastTraffic = 6, kFusedCastTraffic = 2;

// Our own engine widens bf16 operands, and narrows results, where the processor multiplies fp32 faster: read 2,
// write 4.
constexpr double kWidenTraffic = 6;

// Share of the memory bandwidth that PyTorch's own mix of pointwise kernels and of norms and losses, which reduce,
// reaches: a LayerNorm forward and backward over 8,192 x 4,096 in 509 us on an A100 (pytorch/pytorch b6f28334) is half.
constexpr double kKernelShare = 0.7;

// Share of its peak that an fp32 product outside tensor cores sustains (cuBLAS: 18 of an A100's 19.5 TFLOP/s).
constexpr double kPlainShare = 0.9;

struct Rates {
  double gemm, attention, stream, bytes;   // per second; bytes: of kernels that are no products
  double operand = 2, result = 2;          // bytes an entry of what is multiplied, and of what comes out
  double input_cast = 0, weight_cast = 0;  // bytes moved per entry before a product
  double long_gain = 1;                    // attention of the longest sequences, over its rate
};

Rates rates_of(const Setting& s, const Machine& m) {
  Rates r{m.gpu.gemm_tflops * 1e12, m.gpu.attention_tflops * 1e12, m.gpu.memory_gb_s * 1e9 * kStreamShare,
          m.gpu.memory_gb_s * 1e9 * (m.cpu || s.compile || s.tuned ? kStreamShare : kKernelShare)};
  // TF32 tensor cores run at half the bf16 rate, and only when told to; a CPU's rate is that of the dtype it multiplies
  // in.
  if (s.param_bytes > 2 && !m.cpu) {
    const double plain = kPlainShare * fp32_tflops(m.gpu) * 1e12, share = s.tf32 || plain <= 0 ? 0.5 : plain / r.gemm;
    r.gemm *= share, r.attention *= share;
  }
  if (s.fp8 && m.gpu.fp8_gain > 1) {
    r.operand = 1;
    r.input_cast = s.tuned ? kFusedCastTraffic : kCastTraffic, r.weight_cast = s.tuned ? 0 : kCastTraffic;
  }
  if (m.cpu && s.param_bytes < 4) r.input_cast = r.weight_cast = kWidenTraffic, r.result += kWidenTraffic;
  if (!m.cpu) r.long_gain = kLongGain;
  const double tuned = kTunedAttention * m.gpu.peak_tflops * 1e12;
  if (s.tuned && !m.cpu && r.attention < tuned) r.attention = tuned, r.long_gain = 1;
  return r;
}

// One linear layer's forward product: arithmetic plus the traffic of its operands, which large tiles hide only in part.
double gemm_seconds(double tokens, double in, double out, const Rates& r, double gain) {
  const double bytes =
      (r.operand + r.input_cast) * tokens * in + (r.operand + r.weight_cast) * in * out + r.result * tokens * out;
  return 2 * tokens * in * out / (r.gemm * gain) + bytes / r.stream;
}

double attention_rate(const Rates& r, double attended) {
  if (attended <= kLong) return r.attention;
  const double share = std::min(1.0, std::log2(attended / kLong) / std::log2(kLongest / kLong));
  return r.attention * (1 + (r.long_gain - 1) * share);
}

// Seconds a unit of width: layers with a window look back at no more than that, the first tokens at less.
double fused_attention(const ModelShape& m, double attended, const Rates& r) {
  const double whole = attended / attention_rate(r, attended);
  if (m.windowed <= 0 || m.window >= attended) return whole;
  const double seen = 2 * m.window * (1 - m.window / (2 * attended));
  return (1 - m.windowed) * whole + m.windowed * seen / attention_rate(r, seen);
}

struct LayerTime {
  double gemm, attention, elementwise;
};

double mlp_gemm(const ModelShape& m, double tokens, double width, double tp, const Rates& r, double gain) {
  const double up = gemm_seconds(tokens, m.hidden, width / tp, r, gain);
  return (m.gated ? 2 : 1) * up + gemm_seconds(tokens, width / tp, m.hidden, r, gain);
}

// Experts work on few tokens each: every expert's matrices are read for tokens * k / experts rows.
double moe_gemm(const ModelShape& m, const Setting& s, double tokens, const Rates& r, double gain) {
  const double local = m.experts / s.ep;
  const double rows = std::max(1.0, tokens * m.experts_per_token / m.experts * s.ep);
  double t = local * mlp_gemm(m, rows, m.expert_mlp, s.tp, r, gain);
  if (s.ep > 1) t *= kImbalance;
  if (m.shared_mlp > 0) t += mlp_gemm(m, tokens, m.shared_mlp, s.tp, r, gain);
  return t;
}

LayerTime layer_forward(const RankModel& rank, const Setting& s, double tokens, const Rates& r, double gain) {
  const ModelShape& m = rank.shape;
  LayerTime t{};
  const double q = m.q_width() / s.tp, kv = m.kv_width() / s.tp;
  const double keys = m.kv_rank > 0 ? m.kv_rank * 2 : 2 * kv;
  t.gemm = gemm_seconds(tokens, m.hidden, q, r, gain) + gemm_seconds(tokens, m.hidden, keys, r, gain) +
           gemm_seconds(tokens, m.out_width() / s.tp, m.hidden, r, gain);
  const double sparse = m.is_moe() ? (m.layers - m.dense_layers) / m.layers : 0;
  if (sparse > 0) t.gemm += sparse * moe_gemm(m, s, tokens, r, gain);
  if (sparse < 1) t.gemm += (1 - sparse) * mlp_gemm(m, tokens, m.mlp, s.tp, r, gain);
  // Two products over half of the sequence, or document, on average.
  const double half = tokens * (m.q_width() + m.out_width()) / s.tp;
  t.attention = s.attention == Attention::kEager ? kEagerProducts * half * s.seq / (r.gemm * gain)
                                                 : half * fused_attention(m, s.attended(), r);
  t.elementwise = tokens * layer_activations(m, s).traffic / r.bytes;
  return t;
}

double recompute_share(Checkpointing c) {
  switch (c) {
    case Checkpointing::kNone:
      return 0;
    case Checkpointing::kSelective:
      return kSelectiveRecompute;
    case Checkpointing::kSelectiveLayer:
      return 0.5;
    case Checkpointing::kFull:
      return 1;
  }
  return 0;
}

double dequant_pass(const RankModel& rank, const Setting& s, const Rates& r) {
  if (s.quant == Quant::kNone) return 0;
  const double traffic = s.quant == Quant::kGptqInt4 ? kGptqTraffic : kNf4Traffic;
  return traffic * rank.quantizable / r.stream;
}

// Share of the head and the loss, which take `seconds` of a forward, that the slowest rank works on. Hand-tuned
// pipelines spread layers so that all ranks have as much to do; others give each rank as many layers and the last one
// the head too, so that only what layers it lacks makes up for it.
double head_share(const RankModel& rank, const Setting& s, const LayerTime& layer, double seconds) {
  if (s.pp <= 1 || s.tuned) return 1 / s.pp;
  const double last = std::max(0.0, rank.shape.layers - rank.layers * (s.pp - 1));
  const double spare = (rank.layers - last) * (layer.gemm + layer.attention + layer.elementwise);
  return std::clamp(1 - spare / seconds, 0.0, 1.0);
}

// Operations that the host launches for one layer's forward.
double layer_operations(const ModelShape& m, const Setting& s) {
  double ops =
      (s.compile || s.loss == Loss::kFused || s.tuned ? kFusedLayerOps : kLayerOps) + kAdapterOps * s.adapted_modules;
  if (m.is_moe()) {
    const double local = m.experts / s.ep;
    ops +=
        s.loops_experts() ? kExpertOps * local : kGroupedOps + local * (kGroupedExpertOps + (s.fp8 ? kExpertCasts : 0));
  }
  if (s.tp > 1 && !s.tuned) ops += kTensorOps;
  if (is_fsdp(s.sharding)) ops += s.sharding == Sharding::kZero3 ? kZeroUnitOps : kUnitOps;
  return ops;
}

}  // namespace

ComputeTime compute_time(const RankModel& rank, const Setting& s, const Machine& machine, double tokens) {
  const Rates r = rates_of(s, machine);
  const double gain = (s.fp8 ? machine.gpu.fp8_gain : 1) * (s.tuned ? kTunedGain : 1);
  const double layers = rank.layers;
  const LayerTime f = layer_forward(rank, s, tokens, r, gain);
  const double again = recompute_share(s.checkpointing);
  const double attention_again = s.checkpointing == Checkpointing::kSelective ? 0 : again;
  // Frozen weights need the gradient of their input only; adapters add little.
  const double weight_grads = is_lora(s) ? 0 : 1;
  Rates wide = r;  // the head stays in 2 bytes
  if (s.fp8) wide.operand = 2, wide.input_cast = wide.weight_cast = 0;
  const bool aligned = s.tp > 1 || machine.cpu || std::fmod(rank.shape.vocab, 8) == 0;
  double head = gemm_seconds(tokens, rank.shape.hidden, rank.shape.vocab / s.tp, wide, aligned ? 1 : kUnaligned);
  double loss = logits_traffic(rank.shape, s) * s.param_bytes / 2 * tokens * rank.shape.vocab / s.tp / r.bytes;
  const double share = head_share(rank, s, f, head + loss / 2);
  head *= share, loss *= share;
  const double passes = layers * dequant_pass(rank, s, r) / std::max(1.0, layers);
  ComputeTime t;
  t.gemm = layers * f.gemm * (2 + weight_grads + again) + head * (s.saved_params > 0 || !is_lora(s) ? 3 : 2);
  const double attention_backward = s.attention == Attention::kEager ? kEagerBackward : kAttentionBackward;
  t.attention = layers * f.attention * (1 + attention_again + attention_backward);
  t.elementwise = layers * f.elementwise * (1 + again + kElementwiseBackward) + loss;
  t.dequant = passes * (2 + again);
  t.forward = layers * (f.gemm + f.attention + f.elementwise) + head + loss / 2 + passes;
  t.backward = t.gemm + t.attention + t.elementwise + t.dequant - t.forward;
  const double per_op = s.compile ? kCompiledLaunch : kEagerLaunch;
  const double forward_launch = machine.cpu ? 0 : layers * layer_operations(rank.shape, s) * per_op;
  t.launch = forward_launch * (3 + again);
  const auto drained = [](double device, double host) {
    return std::max(device, host) + kDrain * std::min(device, host);
  };
  t.forward = drained(t.forward, forward_launch);
  t.backward = drained(t.backward, t.launch - forward_launch);
  return t;
}

}  // namespace fx::knowledge::plan
