#include <algorithm>
#include <cmath>

#include "knowledge/plan/lora.h"
#include "knowledge/plan/search.h"

namespace fx::knowledge::plan {
namespace {

// Larger micro-batches than this many tokens a GPU gain nothing more.
constexpr double kEnoughTokens = 32768;
// An optimizer step over more tokens than this trains worse than it runs: accumulation that nobody asked for stops.
constexpr double kMostStepTokens = 1 << 20;
// Shorter pieces of a sequence than this many tokens a GPU are not worth their exchange of keys and values.
constexpr double kLeastPiece = 2048;
// Tensor, context and expert parallelism stay within this many neighbours on the fast link.
constexpr double kMostNeighbours = 8;
constexpr double kMicroBatches[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr double kAccumulations[] = {1, 2, 4, 8, 16};

bool divides(double part, double whole) {
  return part >= 1 && std::fmod(whole, part) == 0;
}

// Sizes of a sharding group that is smaller than all data-parallel ranks: parts of a machine, then machines together.
std::vector<double> group_sizes(const Machine& m, double tp) {
  const double ranks = std::floor(m.world() / tp), inside = std::floor(m.gpus_per_node / tp);
  std::vector<double> out;
  const auto add = [&](double size) {
    if (size > 1 && size < ranks && divides(size, ranks)) out.push_back(size);
  };
  add(inside);
  for (double size = std::floor(inside / 2); size > 1; --size) {
    if (divides(size, inside)) add(size);
  }
  for (double size = 2 * inside; inside >= 1 && size < ranks; size *= 2) add(size);
  return out;
}

void add_hsdp(const Machine& m, double tp, bool reshard, std::vector<Layout>& out) {
  for (const double size : group_sizes(m, tp)) out.push_back({Sharding::kHsdp, reshard, tp, 1, 1, 1, size});
}

void add_neighbours(const ModelShape& shape, const Setting& s, const Machine& m, std::vector<Layout>& out) {
  if (m.gpu.link != Link::kNvlink) return;
  const double most = std::min(kMostNeighbours, m.gpus_per_node);
  constexpr auto kFsdp = Sharding::kFsdp2;
  for (double n = 2; n <= most; n *= 2) {
    if (!divides(n, m.world())) continue;
    if (shape.is_moe() && divides(n, shape.experts)) out.push_back({kFsdp, true, 1, 1, 1, n});
    if (!shape.is_moe() && divides(n, shape.heads)) {
      out.push_back({kFsdp, true, n});
      out.push_back({kFsdp, false, n});
      add_hsdp(m, n, true, out);
    }
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
  const Layout asked{s.sharding, s.reshard, s.tp, s.cp, s.pp, s.ep, s.shard_size};
  if (!r.open.sharding || m.world() <= 1) return {asked};
  std::vector<Layout> out;
  std::vector<bool> reshards = {s.reshard};
  if (r.open.reshard) reshards.push_back(!s.reshard);
  const bool whole = s.tp * s.cp * s.pp * s.ep <= 1;
  if (whole) out.push_back({Sharding::kDdp, s.reshard});
  for (const bool reshard : reshards) {
    Layout layout = asked;
    layout.sharding = Sharding::kFsdp2, layout.reshard = reshard;
    out.push_back(layout);
  }
  if (whole && s.shard_size <= 0) {
    for (const bool reshard : reshards) add_hsdp(m, 1, reshard, out);
  }
  if (!r.open.tp) return out;
  add_neighbours(shape, s, m, out);
  if (reach != Reach::kUsual) add_pipelines(shape, m, out);
  return out;
}

// Who names the sharding describes a run: its loss, compiler, accumulation and optimizer are the usual ones, not ours
// to choose.
bool is_ours(const Resolved& r) {
  return r.open.sharding;
}

std::vector<Trim> trims(const Resolved& r) {
  const Setting& s = r.setting;
  std::vector<Loss> losses = {s.loss};
  std::vector<bool> compilers = {s.compile};
  std::vector<Checkpointing> policies = {s.checkpointing};
  if (is_ours(r) && r.open.loss) losses.push_back(Loss::kLiger);
  if (is_ours(r) && r.open.compile) compilers.push_back(true);
  if (r.open.checkpointing) {
    policies = {Checkpointing::kNone, Checkpointing::kSelective, Checkpointing::kFull};
    if (is_ours(r)) policies.insert(policies.begin() + 2, Checkpointing::kSelectiveLayer);
  }
  std::vector<Trim> out;
  for (const Loss loss : losses) {
    for (const bool compile : compilers) {
      for (const Checkpointing c : policies) out.push_back({c, loss, compile});
    }
  }
  return out;
}

std::vector<Setting> cores(const ModelShape& shape, const Resolved& r, Reach reach) {
  std::vector<Setting> out = {r.setting};
  const auto also = [&](auto change) {
    const std::size_t count = out.size();
    for (std::size_t i = 0; i < count; ++i) {
      Setting s = out[i];
      change(s);
      out.push_back(s);
    }
  };
  if (reach == Reach::kUsual) return out;
  if (is_ours(r) && r.open.offload) also([](Setting& s) { s.offload = true; });
  if (reach == Reach::kCostly) return out;
  if (is_ours(r) && r.open.optimizer) also([](Setting& s) { s.optimizer = Optimizer::kAdamw8bit; });
  if (r.open.master && r.setting.master_bytes > 2) {
    also([](Setting& s) { s.master_bytes = s.reduce_bytes = s.param_bytes, s.amp = false; });
  }
  if (reach == Reach::kLowerState || !r.open.method) return out;
  for (const bool offload : {false, true}) {
    if (offload && !(is_ours(r) && r.open.offload)) continue;
    for (const Method method : {Method::kLora, Method::kQlora}) {
      Setting s = r.setting;
      s.offload = offload || s.offload;
      s.method = method;
      s.quant = method == Method::kQlora ? Quant::kNf4 : Quant::kNone;
      adapt_all_linear(shape, s);
      out.push_back(s);
    }
  }
  return out;
}

void add_accumulations(const Resolved& r, double micro, double ranks, const Setting& s, std::vector<Batch>& out) {
  // A pipeline needs several micro-batches a stage to be full.
  const double least = s.pp > 1 && r.open.accumulation ? std::max(s.grad_accum, 4 * s.pp) : s.grad_accum;
  out.push_back({micro, least});
  if (!r.open.accumulation || !is_ours(r)) return;
  for (const double n : kAccumulations) {
    if (n > least && n * micro * s.seq * ranks <= kMostStepTokens) out.push_back({micro, n});
  }
}

}  // namespace

Space space_in_reach(const ModelShape& shape, const Resolved& r, const Machine& m, Reach reach) {
  return {layouts(shape, r, m, reach), cores(shape, r, reach), trims(r)};
}

Setting assemble(const Setting& core, const Layout& l, const Trim& trim) {
  Setting s = core;
  s.sharding = l.sharding, s.reshard = l.reshard, s.shard_size = l.shard_size;
  s.tp = l.tp, s.cp = l.cp, s.pp = l.pp, s.ep = l.ep;
  s.checkpointing = trim.checkpointing, s.loss = trim.loss, s.compile = trim.compile;
  return s;
}

std::vector<Batch> batches_of(const Resolved& r, const Machine& m, const Setting& s) {
  const double ranks = shards_of(s, m).data_parallel;
  std::vector<Batch> out;
  const auto add = [&](double micro) {
    if (r.global_batch <= 0) return add_accumulations(r, micro, ranks, s, out);
    // More sequences at once than the step has would idle ranks; a remainder would make the step larger than asked.
    const bool exact = divides(micro * ranks, r.global_batch);
    if (micro == 1 || !r.open.micro_batch || exact) {
      out.push_back({micro, std::max(1.0, std::ceil(r.global_batch / (micro * ranks)))});
    }
  };
  if (!r.open.micro_batch) {
    add(s.micro_batch);
    return out;
  }
  for (const double micro : kMicroBatches) {
    if (micro == 1 || micro * s.seq / s.cp <= kEnoughTokens) add(micro);
  }
  return out;
}

}  // namespace fx::knowledge::plan
