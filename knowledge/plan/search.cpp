// The search over what the caller left open.
#include <algorithm>

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

// Memory kept free for what a plan cannot see (fragmentation over time, longer samples).
constexpr double kSpare = 0.06;
// Two settings closer than this in speed count as equal: the simpler one (earlier in the list) wins.
constexpr double kSame = 0.03;
// Larger micro-batches than this many tokens a GPU gain nothing more.
constexpr double kEnoughTokens = 32768;

struct Grid {
  std::vector<Sharding> shardings;
  std::vector<bool> offloads, reshards;
  std::vector<Checkpointing> checkpointings;
  std::vector<double> batches, tps;
};

Grid grid_of(const ModelShape& shape, const Resolved& r, const Machine& m) {
  const Setting& s = r.setting;
  Grid g{{s.sharding}, {s.offload}, {s.reshard}, {s.checkpointing}, {s.micro_batch}, {s.tp}};
  if (r.open.sharding && m.world() > 1) {
    g.shardings = {Sharding::kDdp, Sharding::kFsdp2};
    if (m.nodes > 1) g.shardings.push_back(Sharding::kHsdp);
  }
  if (r.open.reshard && r.open.sharding) g.reshards = {true, false};
  using C = Checkpointing;
  if (r.open.checkpointing) g.checkpointings = {C::kNone, C::kSelective, C::kFull};
  if (r.open.offload) g.offloads = {false, true};
  if (r.open.micro_batch) {
    for (double b = 2; b <= 64 && b * s.seq / s.cp <= kEnoughTokens; b *= 2) g.batches.push_back(b);
  }
  if (r.open.tp && r.open.sharding && m.gpu.link == Link::kNvlink && !shape.is_moe()) {
    for (double tp = 2; tp <= std::min(8.0, m.gpus_per_node); tp *= 2) {
      if (static_cast<long long>(shape.heads) % static_cast<long long>(tp) == 0 &&
          static_cast<long long>(m.world()) % static_cast<long long>(tp) == 0)
        g.tps.push_back(tp);
    }
  }
  return g;
}

std::vector<Setting> settings_of(const Grid& g, const Setting& base) {
  std::vector<Setting> out;
  for (const double tp : g.tps) {
    for (const bool offload : g.offloads) {
      for (const Sharding sharding : g.shardings) {
        for (const bool reshard : g.reshards) {
          for (const Checkpointing checkpointing : g.checkpointings) {
            for (const double batch : g.batches) {
              Setting s = base;
              s.tp = tp, s.offload = offload, s.sharding = sharding, s.reshard = reshard;
              s.checkpointing = checkpointing, s.micro_batch = batch;
              const bool idle =
                  !is_fsdp(sharding) && (offload != base.offload || reshard != base.reshard || tp != base.tp);
              if (!idle) out.push_back(s);
            }
          }
        }
      }
    }
  }
  return out;
}

bool safe(const Candidate& c, const Machine& m) {
  return c.memory.fits && c.memory.needed <= (1 - kSpare) * m.gpu.memory_gib * 1024 * 1024 * 1024;
}

bool better(const Candidate& a, const Candidate& b, const Machine& m) {
  const int rank_a = safe(a, m) ? 2 : a.memory.fits ? 1 : 0, rank_b = safe(b, m) ? 2 : b.memory.fits ? 1 : 0;
  if (rank_a != rank_b) return rank_a > rank_b;
  if (rank_a == 0) return a.memory.needed < b.memory.needed;
  return a.speed.tokens_per_s > (1 + kSame) * b.speed.tokens_per_s;
}

}  // namespace

Candidate choose(const ModelShape& shape, const ParamCount& count, const Resolved& r, const Machine& m,
                 std::vector<std::string>& reasons) {
  const auto settings = settings_of(grid_of(shape, r, m), r.setting);
  Candidate best = evaluate(shape, count, settings.empty() ? r.setting : settings.front(), m);
  for (std::size_t i = 1; i < settings.size(); ++i) {
    Candidate next = evaluate(shape, count, settings[i], m);
    if (better(next, best, m)) best = std::move(next);
  }
  if (!best.memory.fits && r.open.master && r.setting.master_bytes > 2) {
    Resolved low = r;
    low.setting.master_bytes = low.setting.reduce_bytes = low.setting.param_bytes;
    low.setting.amp = false;
    std::vector<std::string> low_reasons;
    Candidate next = choose(shape, count, low, m, low_reasons);
    if (next.memory.fits) {
      reasons.push_back(
          "fp32 master weights do not fit: the plan trains in the compute dtype alone, at some risk to the loss.");
      reasons.insert(reasons.end(), low_reasons.begin(), low_reasons.end());
      return next;
    }
  }
  if (settings.size() > 1) {
    reasons.push_back("Chosen from " + std::to_string(settings.size()) + " settings: the fastest that fits with " +
                      std::to_string(static_cast<int>(kSpare * 100)) +
                      " % of memory spare, the simpler of near equals.");
  }
  return best;
}

}  // namespace fx::knowledge::plan
