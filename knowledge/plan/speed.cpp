#include "knowledge/plan/speed.h"

#include <algorithm>
#include <cmath>

#include "knowledge/plan/comm_time.h"
#include "knowledge/plan/compute_time.h"
#include "knowledge/plan/lengths.h"
#include "knowledge/plan/states.h"

namespace fx::knowledge::plan {
namespace {

// Collectives take part of the processors and of the memory bandwidth while compute runs.
constexpr double kOverlapTax = 0.15;
// Gradients that are reduced once a step travel during this share of the last micro-batch's backward: the first layers'
// come last.
constexpr double kHiddenReduction = 0.8;
// Share of the memory bandwidth that the optimizer step reaches: multi-tensor steps make several passes.
constexpr double kForeachPasses = 2.0, kFusedPasses = 1.0;
// CPU Adam under offload: host memory bandwidth in bytes per second, shared by a machine's ranks.
constexpr double kHostBandwidth = 100e9;
// Pieces of its layers that a rank of an interleaved pipeline works on in turn (Megatron's recipes: 2 to 8); the bubble
// shrinks by as much.
constexpr double kInterleave = 4;

// CPU ranks exchange and compute on the same cores: nothing hides.
double overlapped(double compute, double comm, bool cpu) {
  if (cpu) return compute + comm;
  return std::max(compute, comm) + kOverlapTax * std::min(compute, comm);
}

double optimizer_seconds(const States& st, const Setting& s, const Machine& m) {
  if (s.optimizer_in_backward) return 0;
  const double bytes = st.stepped * (3 * s.master_bytes + 2 * optimizer_bytes(s.optimizer, s.master_bytes));
  if (s.offload) return bytes * m.gpus_per_node / kHostBandwidth;
  return bytes * (s.optimizer == Optimizer::kAdamw ? kForeachPasses : kFusedPasses) /
         (m.gpu.memory_gb_s * 1e9 * kStreamShare);
}

// Shards travel to the GPU before each gather, gradients back.
double offload_seconds(const States& st, const RankModel& rank, const Setting& s, const Shards& n, const Machine& m) {
  if (!s.offload) return 0;
  const double up = st.weights * (s.reshard ? 2 : 1);
  const double down = is_lora(s) ? 0 : s.reduce_bytes * rank.sharded(n.grads, s.ep);
  return (up + down) / (m.gpu.pcie_gb_s * 1e9);
}

std::string_view bound_of(const SpeedPlan& p) {
  const double compute = p.gemm_s + p.attention_s;
  if (p.offload_s > std::max(compute, p.exposed_comm_s)) return "offload";
  if (p.exposed_comm_s > 0.5 * compute) return "communication";
  if (p.launch_s > compute + p.elementwise_s + p.dequant_s) return "launch";
  return p.elementwise_s > compute ? "memory_bandwidth" : "compute";
}

// Operations a weight and token: forward, gradient of the input, gradient of the weight. Frozen weights have no last
// one.
constexpr double kTrainedFlops = 6, kFrozenFlops = 4;

double model_flops_per_token(const ModelShape& m, const ParamCount& c, const Setting& s) {
  const double weights = (is_lora(s) ? kFrozenFlops : kTrainedFlops) * c.matmul_active;
  return weights + 6 * m.layers * (m.q_width() + m.out_width()) * s.seq;
}

// Steps of the mean padded batch; only tokens of examples count.
SpeedPlan speed_of_padded(const ModelShape& shape, const ParamCount& count, const Setting& s, const Machine& m) {
  Setting mean = s;
  mean.seq = padded_length(s), mean.example = 0;
  SpeedPlan p = plan_speed(shape, count, mean, m);
  const double useful = std::min(1.0, s.example / mean.seq);
  p.tokens_per_s *= useful, p.mfu *= useful;
  return p;
}

}  // namespace

SpeedPlan plan_speed(const ModelShape& shape, const ParamCount& count, const Setting& s, const Machine& m) {
  if (s.example > 0) return speed_of_padded(shape, count, s, m);
  const RankModel rank = rank_model(shape, count, s);
  const Shards n = shards_of(s, m);
  const States st = count_states(rank, s, m);
  const double chunks = s.pp > 1 && s.grad_accum <= 1 ? s.micro_batch : s.grad_accum;
  const double tokens = s.pp > 1 && s.grad_accum <= 1 ? s.seq / s.cp : s.tokens();
  const ComputeTime c = compute_time(rank, s, m, tokens);
  const CommTime k = comm_time(rank, s, m, tokens);
  SpeedPlan p;
  p.gemm_s = c.gemm, p.attention_s = c.attention, p.elementwise_s = c.elementwise, p.dequant_s = c.dequant;
  p.launch_s = c.launch;
  p.comm_s = k.forward + k.backward + k.serial;
  p.offload_s = offload_seconds(st, rank, s, n, m);
  p.optimizer_s = optimizer_seconds(st, s, m) / chunks;
  const double busy = std::max(
      overlapped(c.forward, k.forward, m.cpu) + overlapped(c.backward, k.backward, m.cpu) + k.serial, p.offload_s);
  const double hidden = std::min(k.per_step, kHiddenReduction * c.backward);
  double micro = busy + (k.per_step - hidden + kOverlapTax * hidden) / chunks + p.optimizer_s;
  p.exposed_comm_s = std::max(0.0, micro - c.forward - c.backward - p.optimizer_s);
  if (s.pp > 1) {
    const double pieces = s.tuned ? std::clamp(std::floor(rank.layers / 2), 1.0, kInterleave) : 1;
    p.bubble_s = micro * (s.pp - 1) / chunks / pieces, micro += p.bubble_s;
  }
  p.step_s = micro * chunks;
  // Tokens of a data-parallel rank and step, over the GPUs that work on them.
  p.tokens_per_s = tokens * s.cp * chunks / p.step_s / (s.tp * s.pp * s.cp);
  p.mfu = p.tokens_per_s * model_flops_per_token(shape, count, s) / (m.gpu.peak_tflops * 1e12);
  p.bound_by = bound_of(p);
  return p;
}

}  // namespace fx::knowledge::plan
