// Answers about layout: batch, sequence, number of GPUs, HSDP, resharding.
#include <algorithm>
#include <cmath>

#include "knowledge/plan/answers.h"
#include "knowledge/plan/states.h"

namespace fx::knowledge::plan {
namespace {

// Bounds of the searches for the largest batch, sequence and smallest number of GPUs.
constexpr double kMostBatch = 4096, kMostTokens = 1 << 24;

// Largest power of two times `first`, up to `most`, that fits(n) says yes to; 0: not even `first`.
template <class Fits>
double largest(double first, double most, const Fits& fits) {
  double best = 0;
  for (double n = first; n <= most && fits(n); n *= 2) best = n;
  return best;
}

// Then the exact one between that and twice it.
template <class Fits>
double refine(double low, const Fits& fits) {
  double high = 2 * low;
  for (int i = 0; i < 6 && high - low > 1; ++i) {
    const double middle = std::floor((low + high) / 2);
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::string best_batch(const Plan& p) {
  const auto with = [&](double batch) { return variant(p, [batch](Setting& s) { s.micro_batch = batch; }); };
  const auto fits = [&](double batch) { return with(batch).memory.fits; };
  const double power = largest(1, kMostBatch, fits);
  if (power <= 0) return words("Not even one sequence fits: %.1f GiB needed.", with(1).memory.needed / kGib);
  const double most = refine(power, fits);
  const Candidate one = with(1), last = with(most);
  return words(
      "Up to %.0f sequences of %.0f tokens fit (%.1f GiB needed). Speed grows from %.0f tokens/s with 1 to %.0f with %.0f; "
      "the plan takes %.0f.",
      most, p.chosen.setting.seq, last.memory.needed / kGib, one.speed.tokens_per_s, last.speed.tokens_per_s, most,
      p.chosen.setting.micro_batch);
}

std::string longest_sequence(const Plan& p) {
  const auto with = [&](double seq) { return variant(p, [seq](Setting& s) { s.seq = seq, s.micro_batch = 1; }); };
  const auto fits = [&](double seq) { return with(seq).memory.fits; };
  const double first = std::max(128.0, p.chosen.setting.cp);
  const double power = largest(first, kMostTokens, fits);
  if (power <= 0)
    return words("No sequence of %.0f tokens fits: %.1f GiB needed.", first, with(first).memory.needed / kGib);
  const double most = std::floor(refine(power, fits) / 64) * 64;
  const Candidate full =
      variant(p, [&](Setting& s) { s.seq = most, s.micro_batch = 1, s.checkpointing = Checkpointing::kFull; });
  return words(
      "About %.0f tokens with one sequence a GPU at this setting (%.1f GiB needed%s). More needs context parallelism.",
      most, with(most).memory.needed / kGib,
      p.chosen.setting.checkpointing == Checkpointing::kFull
          ? ""
          : words("; full checkpointing would lower that to %.1f", full.memory.needed / kGib).c_str());
}

std::string fewest_gpus(const Plan& p) {
  const Setting& s = p.chosen.setting;
  const double split = s.tp * s.pp * s.cp;
  const auto with = [&](double gpus) {
    Machine m = p.machine;
    m.gpus_per_node = std::min(gpus, p.machine.gpus_per_node);
    m.nodes = std::max(1.0, std::ceil(gpus / p.machine.gpus_per_node));
    Setting x = s;
    if (gpus > 1 && x.sharding == Sharding::kNone) x.sharding = Sharding::kFsdp2;
    return evaluate(p.shape, p.count, x, m);
  };
  const double most = std::max(p.machine.world() * 8, 64.0);
  for (double n = std::max(1.0, split); n <= most; n *= 2) {
    const Candidate c = with(n);
    if (!c.memory.fits) continue;
    const Candidate twice = with(2 * n);
    return words(
        "%.0f at this setting (%.1f GiB needed each); twice as many need %.1f GiB each and run at %.0f instead of %.0f "
        "tokens/s each.",
        n, c.memory.needed / kGib, twice.memory.needed / kGib, twice.speed.tokens_per_s, c.speed.tokens_per_s);
  }
  return words("No number up to %.0f makes this setting fit: %.1f GiB do not shrink with more GPUs.", most,
               with(most).memory.needed / kGib);
}

std::string when_hsdp(const Plan& p) {
  const Machine& m = p.machine;
  if (m.nodes <= 1) return "Not on one machine: all GPUs already share the fast link.";
  const auto with = [&](Sharding sharding) {
    return variant(p, [=](Setting& s) { s.sharding = sharding, s.offload = false; });
  };
  const Candidate fsdp = with(Sharding::kFsdp2), hsdp = with(Sharding::kHsdp);
  return words(
      "Sharding inside a machine only needs %.1f instead of %.1f GiB and runs at %.0f instead of %.0f tokens/s (%.0f GB/s "
      "into a machine). %s",
      hsdp.memory.needed / kGib, fsdp.memory.needed / kGib, hsdp.speed.tokens_per_s, fsdp.speed.tokens_per_s,
      m.node_gb_s,
      !hsdp.memory.fits                                          ? "It does not fit."
      : hsdp.speed.tokens_per_s > 1.03 * fsdp.speed.tokens_per_s ? "Use it."
                                                                 : "It gains nothing here.");
}

std::string smaller_reshard_mesh(const Plan& p) {
  const Setting& s = p.chosen.setting;
  const RankModel r = rank_model(p.shape, p.count, s);
  const double ranks = shards_of(s, p.machine).weights;
  if (!is_fsdp(s.sharding) || ranks <= 1) return "Nothing is resharded in this plan.";
  const double group = p.machine.nodes > 1 ? p.machine.gpus_per_node : std::max(2.0, std::floor(ranks / 2));
  const double held = s.param_bytes * r.block_params / group / kGib;
  return words(
      "reshard_after_forward = %.0f keeps %.2f GiB a GPU from forward to backward (true: 0, false: %.2f) and gathers for "
      "backward inside %.0f GPUs. %s",
      group, held, s.param_bytes * r.block_params / kGib, group,
      p.machine.nodes > 1 && p.chosen.speed.bound_by == "communication" ? "The network binds this run: use it."
      : p.machine.nodes > 1 ? "The network does not bind this run: it gains little."
                            : "On one machine the link is the same for any group: it gains nothing.");
}

std::string keep_after_forward(const Plan& p) {
  if (!is_fsdp(p.chosen.setting.sharding)) return "Parameters are never resharded in this plan.";
  const Candidate keep = variant(p, [](Setting& s) { s.reshard = false; });
  const Candidate free = variant(p, [](Setting& s) { s.reshard = true; });
  return words(
      "reshard_after_forward = false holds %.1f instead of %.1f GiB and runs at %.0f instead of %.0f tokens/s: one gather "
      "of three less. %s",
      keep.memory.allocated / kGib, free.memory.allocated / kGib, keep.speed.tokens_per_s, free.speed.tokens_per_s,
      !keep.memory.fits                                          ? "It does not fit."
      : keep.speed.tokens_per_s > 1.03 * free.speed.tokens_per_s ? "Use it."
                                                                 : "The gather hides behind compute: leave it true.");
}

}  // namespace fx::knowledge::plan
