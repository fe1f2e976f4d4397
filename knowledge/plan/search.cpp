#include "knowledge/plan/search.h"

#include <algorithm>
#include <tuple>

namespace fx::knowledge::plan {
namespace {

// Share of memory kept free for what a plan cannot see (fragmentation over time, longer samples).
constexpr double kSpare = 0.06;
// Two settings closer than this share in speed count as equal: the simpler one (earlier in the list) wins.
constexpr double kSame = 0.03;
// Gain in speed that pays for more effort: model code that splits layers, a compiler, another library's kernels.
constexpr double kWorthTheWork = 0.10;
constexpr std::size_t kMostRanked = 6;

bool safe(const Candidate& c, const Machine& m) {
  return c.memory.fits && c.memory.needed <= (1 - kSpare) * m.gpu.memory_gib * kGib;
}

int grade(const Candidate& c, const Machine& m) {
  return safe(c, m) ? 2 : c.memory.fits ? 1 : 0;
}

// What a setting asks for beyond a usual training loop: another library's loss, a compiler, layers that are split.
int effort(const Setting& s) {
  return (s.loss == Loss::kLiger ? 1 : 0) + (s.compile ? 1 : 0) + (s.tp * s.cp * s.pp * s.ep > 1 ? 2 : 0);
}

bool better(const Candidate& a, const Candidate& b, const Machine& m) {
  const int grade_a = grade(a, m), grade_b = grade(b, m);
  if (grade_a != grade_b) return grade_a > grade_b;
  if (grade_a == 0) return a.memory.needed < b.memory.needed;
  const int more = effort(a.setting) - effort(b.setting);
  if (more < 0) return (1 + kWorthTheWork) * a.speed.tokens_per_s >= b.speed.tokens_per_s;
  return a.speed.tokens_per_s > (1 + (more > 0 ? kWorthTheWork : kSame)) * b.speed.tokens_per_s;
}

auto way_of_spreading(const Setting& s) {
  return std::tuple(s.sharding, s.reshard, s.shard_size, s.tp, s.cp, s.pp, s.ep, s.offload, s.master_bytes, s.optimizer,
                    s.method);
}

// Evaluates settings one after another and keeps the best of all and of each way.
class Contest {
 public:
  Contest(const ModelShape& shape, const ParamCount& count, const Machine& machine)
      : shape_(shape), count_(count), machine_(machine) {}

  // Whether the setting fits. The speed of one that does not is never asked for.
  bool enter(const Setting& setting) {
    ++tried_;
    Candidate next{setting, plan_memory(shape_, count_, setting, machine_), {}};
    const bool fits = next.memory.fits;
    if (fits) next.speed = plan_speed(shape_, count_, setting, machine_);
    if (ranked_.empty() || better(next, best_, machine_)) best_ = next;
    keep(std::move(next));
    return fits;
  }

  bool fits(const Setting& setting) const { return plan_memory(shape_, count_, setting, machine_).fits; }
  Candidate best() const { return timed(best_); }
  std::size_t tried() const { return tried_; }

  // Those that fit first, by speed.
  std::vector<Candidate> ranked() const {
    std::vector<Candidate> out = ranked_;
    for (Candidate& c : out) {
      if (way_of_spreading(c.setting) == way_of_spreading(best_.setting)) c = best_;
    }
    std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
      if (a.memory.fits != b.memory.fits) return a.memory.fits;
      return a.memory.fits ? a.speed.tokens_per_s > b.speed.tokens_per_s : a.memory.needed < b.memory.needed;
    });
    if (out.size() > kMostRanked) out.resize(kMostRanked);
    for (Candidate& c : out) c = timed(std::move(c));
    return out;
  }

 private:
  // Settings come way by way, so the last ones are looked at first.
  void keep(Candidate&& next) {
    const auto way = way_of_spreading(next.setting);
    for (auto known = ranked_.rbegin(); known != ranked_.rend(); ++known) {
      if (way_of_spreading(known->setting) != way) continue;
      if (better(next, *known, machine_)) *known = std::move(next);
      return;
    }
    ranked_.push_back(std::move(next));
  }

  Candidate timed(Candidate c) const {
    if (c.speed.tokens_per_s <= 0) c.speed = plan_speed(shape_, count_, c.setting, machine_);
    return c;
  }

  const ModelShape& shape_;
  const ParamCount& count_;
  const Machine& machine_;
  Candidate best_;
  std::vector<Candidate> ranked_;
  std::size_t tried_ = 0;
};

Setting with_batch(Setting s, const Batch& batch) {
  s.micro_batch = batch.micro, s.grad_accum = batch.accumulation;
  return s;
}

// All trims and batches of one layout. Larger micro-batches than one that does not fit, and all trims when the
// leanest does not fit with the smallest batch, need no look.
void search_layout(const Setting& core, const Layout& layout, const std::vector<Trim>& trims, const Resolved& r,
                   const Machine& m, Contest& contest) {
  Setting leanest = assemble(core, layout, trims.back());
  const auto batches = batches_of(r, m, leanest);
  leanest = with_batch(leanest, batches.front());
  if (!contest.fits(leanest)) {
    contest.enter(leanest);
    return;
  }
  for (const Trim& trim : trims) {
    const Setting setting = assemble(core, layout, trim);
    double too_large = 0;
    for (const Batch& batch : batches) {
      if (too_large > 0 && batch.micro > too_large) break;
      if (!contest.enter(with_batch(setting, batch)) && too_large <= 0) too_large = batch.micro;
    }
  }
}

// What was not within the last reach: new layouts, and new cores in every layout.
void search_new(const Space& space, const Space& last, const Resolved& r, const Machine& m, Contest& contest) {
  for (std::size_t l = 0; l < space.layouts.size(); ++l) {
    const std::size_t first = l < last.layouts.size() ? last.cores.size() : 0;
    for (std::size_t c = first; c < space.cores.size(); ++c) {
      const Setting& core = space.cores[c];
      const bool idle = core.offload && !r.setting.offload && !is_fsdp(space.layouts[l].sharding);
      if (!idle) search_layout(core, space.layouts[l], space.trims, r, m, contest);
    }
  }
}

// What a step of reach was taken for, said in terms of what it now uses.
void explain_reach(const Candidate& usual, const Candidate& now, const Machine& m, std::vector<std::string>& reasons) {
  if (!now.memory.fits) return;
  const std::string before = "Without it the least would be " + gib_text(usual.memory.needed) + " of " +
                             gib_text(m.gpu.memory_gib * kGib) + ".";
  const Setting &a = usual.setting, &b = now.setting;
  if (b.master_bytes < a.master_bytes) {
    reasons.push_back(
        "fp32 master weights do not fit: the plan trains in the compute dtype alone, at some risk to the loss. " +
        before);
  }
  if (b.optimizer == Optimizer::kAdamw8bit && a.optimizer != b.optimizer)
    reasons.push_back("The optimizer keeps its states in 8 bits. " + before);
  if (b.offload && !a.offload) reasons.push_back("State lives in host memory, which costs speed. " + before);
  if (b.pp > a.pp) reasons.push_back("Layers are split into a pipeline. " + before);
  if (b.method != a.method) {
    reasons.push_back("All weights cannot be trained here: the plan trains adapters on a frozen base (" +
                      std::string(to_string(b.method)) + "). " + before);
  }
}

}  // namespace

Choice choose(const ModelShape& shape, const ParamCount& count, const Resolved& r, const Machine& m) {
  Choice choice;
  Contest contest(shape, count, m);
  Space last;
  for (const Reach reach : {Reach::kUsual, Reach::kCostly, Reach::kLowerState, Reach::kAdapters}) {
    Space space = space_in_reach(shape, r, m, reach);
    const std::size_t tried = contest.tried();
    search_new(space, last, r, m, contest);
    if (contest.tried() == tried) continue;  // everything was fixed
    const Candidate before = std::exchange(choice.best, contest.best());
    if (reach != Reach::kUsual) explain_reach(before, choice.best, m, choice.reasons);
    if (choice.best.memory.fits) break;
    last = std::move(space);
  }
  choice.ranked = contest.ranked();
  if (contest.tried() > 1) {
    choice.reasons.push_back("Chosen from " + std::to_string(contest.tried()) +
                             " settings: the fastest that fits with " + std::to_string(static_cast<int>(kSpare * 100)) +
                             " % of memory spare, the simpler of near equals.");
  }
  return choice;
}

}  // namespace fx::knowledge::plan
