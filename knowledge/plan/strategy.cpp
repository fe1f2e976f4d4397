// Which way of spreading the work is right here, in numbers, and when FSDP is not it.
#include <cstdio>

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

// Plain data parallelism is right when state and activations leave this share of the GPU free.
constexpr double kDdpSpare = 0.20;
// Mixture-of-experts models whose experts are gathered for this many times the parameters a token uses belong on expert
// parallelism.
constexpr double kExpertRatio = 3;
// Gathers that take less of a step than this in the open cost next to nothing.
constexpr double kHiddenShare = 0.1;

std::string number(const char* format, double a, double b = 0, double c = 0) {
  char text[300];
  std::snprintf(text, sizeof text, format, a, b, c);
  return text;
}

Candidate as(const Plan& plan, Sharding sharding) {
  Setting s = plan.chosen.setting;
  s.sharding = sharding;
  s.offload = false;
  s.reshard = true;
  return evaluate(plan.shape, plan.count, s, plan.machine);
}

bool ddp_is_right(Plan& plan) {
  const Setting& s = plan.chosen.setting;
  if (plan.machine.world() <= 1 || s.tp * s.pp * s.cp > 1 || plan.machine.cpu) return false;
  const Candidate ddp = as(plan, Sharding::kDdp);
  const double room = plan.machine.gpu.memory_gib * kGib;
  if (ddp.memory.needed > (1 - kDdpSpare) * room) {
    plan.reasons.push_back(
        number("Without sharding a GPU would need %.1f GiB of %.1f GiB.", ddp.memory.needed / kGib, room / kGib));
    return false;
  }
  const double gain = ddp.speed.tokens_per_s / as(plan, Sharding::kFsdp2).speed.tokens_per_s;
  plan.reasons.push_back(number(
      "Training state and activations fit on one GPU: %.1f of %.1f GiB with plain data parallelism, which runs at %.2f "
      "times the speed of FSDP. Sharding would only add communication.",
      ddp.memory.needed / kGib, room / kGib, gain));
  return true;
}

bool experts_are_right(Plan& plan) {
  const Setting& s = plan.chosen.setting;
  if (!plan.shape.is_moe() || plan.machine.world() <= 1 || s.ep > 1) return false;
  const double ratio = plan.count.total / plan.count.active;
  if (ratio < kExpertRatio) return false;
  plan.reasons.push_back(
      number("A step gathers all %.1f billion parameters but a token computes with %.1f billion: FSDP alone moves %.1f "
             "times what the arithmetic pays for.",
             plan.count.total / 1e9, plan.count.active / 1e9, ratio));
  plan.reasons.push_back(
      plan.count.total > 200e9
          ? "Use expert parallelism within and across nodes plus pipeline parallelism (Megatron, NeMo, "
            "torchtitan), and FSDP for the dense part only."
          : "Use expert parallelism with grouped products (Megatron, NeMo, torchtitan), and FSDP for the "
            "dense part.");
  const SpeedPlan& speed = plan.chosen.speed;
  const double micro_s = speed.step_s / s.grad_accum;
  if (speed.exposed_comm_s < kHiddenShare * micro_s) {
    plan.reasons.push_back(number(
        "With the settings planned here the gathers hide behind arithmetic (%.0f of %.0f ms a micro-batch are in the "
        "open): FSDP alone will do for a run of this size. Fewer tokens a GPU or slower links would show them.",
        1e3 * speed.exposed_comm_s, 1e3 * micro_s));
  }
  return true;
}

void explain_fsdp(Plan& plan) {
  const Candidate& c = plan.chosen;
  if (c.speed.bound_by == "communication") {
    plan.reasons.push_back(
        number("The links bound this run: %.0f of %.0f ms a micro-batch are exposed communication. More tokens a GPU, "
               "sharding inside a node only (hsdp), or a pipeline help; more GPUs do not.",
               1e3 * c.speed.exposed_comm_s, 1e3 * c.speed.step_s / c.setting.grad_accum));
  }
  const Machine& m = plan.machine;
  if (c.memory.host > 0 && !m.cpu) {
    plan.reasons.push_back("Offload keeps " + gib_text(c.memory.host) + " in the memory of each machine" +
                           (m.host_memory_gib <= 0 ? " (hardware.host_memory_gib says how much there is)."
                            : c.memory.host > m.host_memory_gib * kGib
                                ? ", more than the " + gib_text(m.host_memory_gib * kGib) + " that it has."
                                : "."));
  }
  if (c.memory.needed > m.gpu.memory_gib * kGib) {
    plan.reasons.push_back("It does not fit: " + gib_text(c.memory.needed) + " needed at " +
                           std::string(c.memory.peak_moment) + ", " + gib_text(m.gpu.memory_gib * kGib) +
                           " available.");
  }
}

std::string name_of(const Setting& s, const Machine& m) {
  if (s.pp > 1 || s.ep > 1) return "megatron-style ep/pp";
  if (m.world() <= 1) return "single-gpu";
  if (s.sharding == Sharding::kHsdp) return "hsdp";
  return s.sharding == Sharding::kDdp || s.sharding == Sharding::kNone ? "ddp" : "fsdp";
}

}  // namespace

void set_strategy(Plan& plan) {
  explain_fsdp(plan);
  if (plan.machine.cpu && plan.machine.world() > 1) {
    plan.strategy = "fsdp";
    plan.reasons.push_back(
        number("Our CPU engine shards over its ranks: %.1f GiB a rank, %.1f GiB with one rank. With as many ranks as "
               "cores each works on its own core.",
               plan.chosen.memory.needed / kGib, as(plan, Sharding::kDdp).memory.needed / kGib));
  } else if (plan.machine.world() <= 1) {
    plan.strategy = "single-gpu";
    plan.reasons.push_back("One device: there is nothing to shard over.");
  } else if (experts_are_right(plan)) {
    plan.strategy = "megatron-style ep/pp";
  } else if (ddp_is_right(plan)) {
    plan.strategy = "ddp";
  } else {
    plan.strategy = name_of(plan.chosen.setting, plan.machine);
  }
}

}  // namespace fx::knowledge::plan
