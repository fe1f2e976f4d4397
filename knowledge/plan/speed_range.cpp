#include <algorithm>

#include "knowledge/plan/machine.h"
#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

// Half-width of the range where kernels and links are known: library versions, power limits and clocks differ.
constexpr double kSpread = 0.35;

double speed_of(const Plan& plan, const Setting& setting, const Machine& machine) {
  return plan_speed(plan.shape, plan.count, setting, machine).tokens_per_s;
}

// Products and attention gain nothing from a second thread on the same core either.
double speed_on_shared_cores(const Plan& plan) {
  Machine machine = plan.machine;
  machine.gpu.gemm_tflops /= kThreadsOfACore;
  machine.gpu.attention_tflops /= kThreadsOfACore;
  return speed_of(plan, plan.chosen.setting, machine);
}

// The same run with the experts' other kind of kernel: grouped products for a loop, a loop for them.
double speed_with_other_experts(const Plan& plan) {
  Setting other = plan.chosen.setting;
  other.looped_experts = !other.loops_experts();
  other.grouped_experts = !other.looped_experts;
  return speed_of(plan, other, plan.machine);
}

// Attention kernels differ by generation: those that do not know the chip, and the newest, written for it (the table's
// rates lie between).
constexpr double kOldKernels = 0.65, kNewestShare = 0.6;

double speed_with_attention(const Plan& plan, double tflops) {
  Machine machine = plan.machine;
  machine.gpu.attention_tflops = tflops;
  return speed_of(plan, plan.chosen.setting, machine);
}

// ZeRO-1 and DDP may be Megatron's, and expert parallelism come, with hand-fused kernels.
double speed_with_tuned_kernels(const Plan& plan) {
  Setting tuned = plan.chosen.setting;
  tuned.tuned = true;
  return speed_of(plan, tuned, plan.machine);
}

}  // namespace

void set_speed_range(Plan& plan) {
  const double speed = plan.chosen.speed.tokens_per_s;
  double low = speed, high = speed;
  if (plan.machine.cpu && plan.machine.cores_per_rank > 1) low = std::min(low, speed_on_shared_cores(plan));
  if (plan.shape.is_moe() && !plan.machine.cpu) {
    const double other = speed_with_other_experts(plan);
    low = std::min(low, other), high = std::max(high, other);
  }
  if (!plan.machine.cpu) {
    Setting rounded = plan.chosen.setting;
    rounded.tf32 = true;
    high = std::max(high, speed_of(plan, rounded, plan.machine));
    const Gpu& gpu = plan.machine.gpu;
    low = std::min(low, speed_with_attention(plan, kOldKernels * gpu.attention_tflops));
    high = std::max(high, speed_with_attention(plan, std::max(gpu.attention_tflops, kNewestShare * gpu.peak_tflops)));
    const Setting& s = plan.chosen.setting;
    const bool maybe_tuned = s.sharding == Sharding::kZero1 || s.sharding == Sharding::kDdp || s.ep > 1;
    if (maybe_tuned) high = std::max(high, speed_with_tuned_kernels(plan));
  }
  plan.speed_low = low * (1 - kSpread);
  plan.speed_high = high * (1 + kSpread);
}

}  // namespace fx::knowledge::plan
