#include <algorithm>
#include <cmath>

#include "knowledge/plan/search.h"

namespace fx::knowledge::plan {
namespace {

// Larger micro-batches than this many tokens a GPU gain nothing more.
constexpr double kEnoughTokens = 32768;
// Shorter pieces of a sequence than this many tokens a GPU are not worth their exchange of keys and values.
constexpr double kLeastPiece = 2048;
// Tensor, context and expert parallelism stay within this many neighbours on the fast link.
constexpr double kMostNeighbours = 8;
constexpr double kBatches[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

bool divides(double part, double whole) {
  return part >= 1 && std::fmod(whole, part) == 0;
}

// One way of spreading the work.
struct Layout {
  Sharding sharding;
  bool reshard = true;
  double tp = 1, cp = 1, pp = 1, ep = 1;
};

void add_neighbours(const ModelShape& shape, const Setting& s, const Machine& m, std::vector<Layout>& out) {
  if (m.gpu.link != Link::kNvlink) return;
  const double most = std::min(kMostNeighbours, m.gpus_per_node);
  constexpr auto kFsdp = Sharding::kFsdp2;
  for (double n = 2; n <= most; n *= 2) {
    if (!divides(n, m.world())) continue;
    if (shape.is_moe() && divides(n, shape.experts)) out.push_back({kFsdp, true, 1, 1, 1, n});
    if (!shape.is_moe() && divides(n, shape.heads)) out.push_back({kFsdp, true, n});
    if (s.seq / n >= kLeastPiece) out.push_back({kFsdp, true, 1, n});
  }
}

void add_pipelines(const ModelShape& shape, const Machine& m, std::vector<Layout>& out) {
  if (m.gpu.link != Link::kNvlink) return;
  const double most = std::min(kMostNeighbours, m.gpus_per_node);
  for (double pp = 2; pp <= 16 && pp <= shape.layers; pp *= 2) {
    for (const double tp : {1.0, most}) {
      if (divides(tp * pp, m.world()) && divides(tp, shape.heads))
        out.push_back({Sharding::kFsdp2, true, tp, 1, pp, 1});
    }
  }
}

std::vector<Layout> layouts(const ModelShape& shape, const Resolved& r, const Machine& m, Reach reach) {
  const Setting& s = r.setting;
  const Layout asked{s.sharding, s.reshard, s.tp, s.cp, s.pp, s.ep};
  std::vector<Layout> out;
  const auto add = [&](Sharding sharding) {
    Layout layout = asked;
    layout.sharding = sharding;
    out.push_back(layout);
    if (is_fsdp(sharding) && r.open.reshard && r.open.sharding) layout.reshard = !layout.reshard, out.push_back(layout);
  };
  if (!r.open.sharding || m.world() <= 1) {
    add(s.sharding);
    return out;
  }
  if (s.tp * s.cp * s.pp * s.ep <= 1) add(Sharding::kDdp);
  add(Sharding::kFsdp2);
  if (m.nodes > 1) add(Sharding::kHsdp);
  if (!r.open.tp) return out;
  add_neighbours(shape, s, m, out);
  if (reach != Reach::kUsual) add_pipelines(shape, m, out);
  return out;
}

std::vector<double> batches(const Resolved& r, double cp) {
  if (!r.open.micro_batch) return {r.setting.micro_batch};
  std::vector<double> out;
  for (const double b : kBatches) {
    if (b == 1 || b * r.setting.seq / cp <= kEnoughTokens) out.push_back(b);
  }
  return out;
}

// Micro-batches a step, so that all ranks together see the asked number of sequences.
void set_accumulation(const Resolved& r, const Machine& m, Setting& s) {
  if (r.global_batch > 0)
    s.grad_accum = std::max(1.0, std::ceil(r.global_batch / (s.micro_batch * shards_of(s, m).data_parallel)));
}

void add_batches(const Resolved& r, const Machine& m, const Layout& l, Setting s, std::vector<Setting>& out) {
  s.sharding = l.sharding, s.reshard = l.reshard;
  s.tp = l.tp, s.cp = l.cp, s.pp = l.pp, s.ep = l.ep;
  for (const double batch : batches(r, l.cp)) {
    s.micro_batch = batch;
    // More sequences at once than the step has would idle ranks.
    if (r.global_batch > 0 && batch > 1 && batch * shards_of(s, m).data_parallel > r.global_batch) break;
    Setting next = s;
    set_accumulation(r, m, next);
    // A pipeline needs as many micro-batches as stages to be full.
    if (l.pp > 1 && r.open.accumulation && r.global_batch <= 0) next.grad_accum = std::max(next.grad_accum, 4 * l.pp);
    out.push_back(next);
  }
}

std::vector<Setting> bases(const Resolved& r, Reach reach) {
  std::vector<Setting> out = {r.setting};
  const auto also = [&](auto change) {
    const std::size_t count = out.size();
    for (std::size_t i = 0; i < count; ++i) {
      Setting s = out[i];
      change(s);
      out.push_back(s);
    }
  };
  using C = Checkpointing;
  if (r.open.checkpointing) {
    Setting s = r.setting;
    for (const C c : {C::kSelective, C::kFull}) s.checkpointing = c, out.push_back(s);
  }
  // Who names the sharding describes a run: its loss and optimizer are the usual ones, not ours to choose.
  if (reach == Reach::kUsual) return out;
  const bool ours = r.open.sharding;
  if (ours && r.open.loss) also([](Setting& s) { s.loss = Loss::kLiger; });
  if (ours && r.open.offload) also([](Setting& s) { s.offload = true; });
  if (reach == Reach::kCostly) return out;
  if (ours && r.open.optimizer) also([](Setting& s) { s.optimizer = Optimizer::kAdamw8bit; });
  if (r.open.master && r.setting.master_bytes > 2) {
    also([](Setting& s) { s.master_bytes = s.reduce_bytes = s.param_bytes, s.amp = false; });
  }
  return out;
}

}  // namespace

std::vector<Setting> settings_in_reach(const ModelShape& shape, const Resolved& r, const Machine& m, Reach reach) {
  std::vector<Setting> out;
  const auto all = bases(r, reach);
  for (const Layout& layout : layouts(shape, r, m, reach)) {
    for (const Setting& base : all) {
      if (base.offload && !r.setting.offload && !is_fsdp(layout.sharding)) continue;  // nothing would be offloaded
      add_batches(r, m, layout, base, out);
    }
  }
  return out;
}

}  // namespace fx::knowledge::plan
