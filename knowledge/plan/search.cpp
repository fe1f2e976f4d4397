#include "knowledge/plan/search.h"

#include <algorithm>
#include <tuple>

namespace fx::knowledge::plan {
namespace {

// Share of memory kept free for what a plan cannot see (fragmentation over time, longer samples).
constexpr double kSpare = 0.06;
// Two settings closer than this share in speed count as equal: the simpler one (earlier in the list) wins.
constexpr double kSame = 0.03;
// Gain in speed that pays for the model code which tensor, context, pipeline or expert parallelism asks for.
constexpr double kWorthTheWork = 0.10;
constexpr std::size_t kMostRanked = 6;

bool safe(const Candidate& c, const Machine& m) {
  return c.memory.fits && c.memory.needed <= (1 - kSpare) * m.gpu.memory_gib * kGib;
}

int grade(const Candidate& c, const Machine& m) {
  return safe(c, m) ? 2 : c.memory.fits ? 1 : 0;
}

bool splits_layers(const Setting& s) {
  return s.tp * s.cp * s.pp * s.ep > 1;
}

bool better(const Candidate& a, const Candidate& b, const Machine& m) {
  const int grade_a = grade(a, m), grade_b = grade(b, m);
  if (grade_a != grade_b) return grade_a > grade_b;
  if (grade_a == 0) return a.memory.needed < b.memory.needed;
  const double margin = splits_layers(a.setting) && !splits_layers(b.setting) ? kWorthTheWork : kSame;
  return a.speed.tokens_per_s > (1 + margin) * b.speed.tokens_per_s;
}

auto way_of_spreading(const Setting& s) {
  return std::tuple(s.sharding, s.reshard, s.tp, s.cp, s.pp, s.ep, s.offload, s.master_bytes, s.optimizer);
}

// The best of each way, kept in the order in which the ways were met.
void keep(std::vector<Candidate>& ranked, Candidate&& next, const Machine& m) {
  for (auto& known : ranked) {
    if (way_of_spreading(known.setting) != way_of_spreading(next.setting)) continue;
    if (better(next, known, m)) known = std::move(next);
    return;
  }
  ranked.push_back(std::move(next));
}

void sort_ranked(std::vector<Candidate>& ranked) {
  std::stable_sort(ranked.begin(), ranked.end(), [](const Candidate& a, const Candidate& b) {
    if (a.memory.fits != b.memory.fits) return a.memory.fits;
    return a.memory.fits ? a.speed.tokens_per_s > b.speed.tokens_per_s : a.memory.needed < b.memory.needed;
  });
  if (ranked.size() > kMostRanked) ranked.resize(kMostRanked);
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
  if (b.optimizer != a.optimizer) reasons.push_back("The optimizer keeps its states in 8 bits. " + before);
  if (b.offload && !a.offload) reasons.push_back("State lives in host memory, which costs speed. " + before);
  if (b.pp > a.pp) reasons.push_back("Layers are split into a pipeline. " + before);
}

}  // namespace

Choice choose(const ModelShape& shape, const ParamCount& count, const Resolved& r, const Machine& m) {
  Choice choice;
  std::size_t tried = 0;
  for (const Reach reach : {Reach::kUsual, Reach::kCostly, Reach::kLowerState}) {
    const auto settings = settings_in_reach(shape, r, m, reach);
    if (reach != Reach::kUsual && settings.size() <= tried) continue;  // everything was fixed
    tried = settings.size();
    choice.ranked.clear();
    Candidate best;
    for (const Setting& setting : settings) {
      Candidate next = evaluate(shape, count, setting, m);
      if (choice.ranked.empty() || better(next, best, m)) best = next;
      keep(choice.ranked, std::move(next), m);
    }
    const Candidate before = std::exchange(choice.best, best);
    if (reach != Reach::kUsual) explain_reach(before, choice.best, m, choice.reasons);
    if (choice.best.memory.fits) break;
  }
  sort_ranked(choice.ranked);
  if (tried > 1) {
    choice.reasons.push_back("Chosen from " + std::to_string(tried) + " settings: the fastest that fits with " +
                             std::to_string(static_cast<int>(kSpare * 100)) +
                             " % of memory spare, the simpler of near equals.");
  }
  return choice;
}

}  // namespace fx::knowledge::plan
