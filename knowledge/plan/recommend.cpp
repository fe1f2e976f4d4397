// Ranked changes of one setting each.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "knowledge/plan/lora.h"
#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

constexpr std::size_t kMost = 6;

struct Change {
  std::string text;
  Setting setting;
};

std::string arrow(const char* key, std::string_view from, std::string_view to) {
  return std::string(key) + ": " + std::string(from) + " -> " + std::string(to);
}

std::string whole(double value) {
  return std::to_string(static_cast<long long>(value));
}

void add(std::vector<Change>& out, std::string text, const Setting& base, const std::function<void(Setting&)>& change) {
  Setting s = base;
  change(s);
  out.push_back({std::move(text), s});
}

void add_memory_changes(const Plan& plan, std::vector<Change>& out) {
  const Setting& s = plan.chosen.setting;
  using C = Checkpointing;
  for (const C c : {C::kNone, C::kSelective, C::kFull}) {
    if (c != s.checkpointing)
      add(out, arrow("activation_checkpointing", to_string(s.checkpointing), to_string(c)), s,
          [c](Setting& x) { x.checkpointing = c; });
  }
  add(out, arrow("micro_batch", whole(s.micro_batch), whole(2 * s.micro_batch)), s,
      [](Setting& x) { x.micro_batch *= 2; });
  if (s.micro_batch >= 2) {
    const double less = std::fmod(s.micro_batch, 2) == 0 ? s.micro_batch / 2 : 1, times = s.micro_batch / less;
    add(out,
        arrow("micro_batch", whole(s.micro_batch), whole(less)) + " with " + whole(times) + " times the grad_accum", s,
        [=](Setting& x) { x.micro_batch = less, x.grad_accum *= times; });
  }
  if (s.example > 0) {
    add(out, "pack examples into sequences of " + whole(s.seq) + " tokens", s,
        [](Setting& x) { x.document = x.example, x.example = 0; });
  }
  if (plan.machine.cpu) return;
  if (s.attention == Attention::kEager)
    add(out, arrow("attention", "eager", "sdpa"), s, [](Setting& x) { x.attention = Attention::kSdpa; });
  if (s.loss == Loss::kStandard || s.loss == Loss::kFused) {
    add(out, arrow("loss_impl", to_string(s.loss), "chunked"), s, [](Setting& x) { x.loss = Loss::kChunked; });
  }
  if (s.loss != Loss::kLiger)
    add(out, arrow("loss_impl", to_string(s.loss), "liger") + " (with its fused norms)", s,
        [](Setting& x) { x.loss = Loss::kLiger; });
  if (s.optimizer == Optimizer::kAdamw)
    add(out, arrow("optimizer", "adamw", "adamw-fused"), s, [](Setting& x) { x.optimizer = Optimizer::kAdamwFused; });
}

// Adapters, when the whole model is trained and does not fit.
void add_method_changes(const Plan& plan, std::vector<Change>& out) {
  const Setting& s = plan.chosen.setting;
  if (plan.machine.cpu || plan.chosen.memory.fits || s.method == Method::kQlora) return;
  const auto adapt = [&](Setting& x) { adapt_all_linear(plan.shape, x); };
  if (s.method == Method::kFull) {
    add(out, "method: full -> lora (rank 16, all-linear)", s, [&](Setting& x) { x.method = Method::kLora, adapt(x); });
  }
  add(out, arrow("method", to_string(s.method), "qlora") + " (nf4 base)", s, [&](Setting& x) {
    if (x.method == Method::kFull) adapt(x);
    x.method = Method::kQlora, x.quant = Quant::kNf4;
  });
}

void add_layout_changes(const Plan& plan, std::vector<Change>& out) {
  const Setting& s = plan.chosen.setting;
  const bool one = plan.machine.world() <= 1;
  if (!s.compile && !plan.machine.cpu) add(out, "compile: false -> true", s, [](Setting& x) { x.compile = true; });
  if (one || s.tp * s.pp * s.cp > 1) return;
  if (is_fsdp(s.sharding) && !plan.machine.cpu) {
    add(out, arrow("sharding", to_string(s.sharding), "ddp"), s,
        [](Setting& x) { x.sharding = Sharding::kDdp, x.offload = false; });
    if (!s.offload) add(out, "cpu_offload: false -> true", s, [](Setting& x) { x.offload = true; });
    if (s.offload) add(out, "cpu_offload: true -> false", s, [](Setting& x) { x.offload = false; });
  }
  if (is_fsdp(s.sharding)) {
    add(out, std::string("reshard_after_forward: ") + (s.reshard ? "true -> false" : "false -> true"), s,
        [](Setting& x) { x.reshard = !x.reshard; });
  }
  if (!is_fsdp(s.sharding))
    add(out, arrow("sharding", to_string(s.sharding), "fsdp2"), s, [](Setting& x) { x.sharding = Sharding::kFsdp2; });
  if (plan.machine.nodes > 1 && s.sharding != Sharding::kHsdp)
    add(out, arrow("sharding", to_string(s.sharding), "hsdp"), s, [](Setting& x) { x.sharding = Sharding::kHsdp; });
}

std::string effect(const Candidate& now, const Candidate& then) {
  char text[200];
  std::snprintf(text, sizeof text, "memory %.1f -> %.1f GiB, speed %+.0f %%, %s", now.memory.allocated / kGib,
                then.memory.allocated / kGib, 100 * (then.speed.tokens_per_s / now.speed.tokens_per_s - 1),
                then.memory.fits ? "fits" : "does not fit");
  return text;
}

// Worth saying: makes it fit, is faster and fits, or saves a tenth of the memory.
bool useful(const Candidate& now, const Candidate& then) {
  if (!now.memory.fits) return then.memory.needed < 0.98 * now.memory.needed;
  if (!then.memory.fits) return false;
  return then.speed.tokens_per_s > 1.02 * now.speed.tokens_per_s || then.memory.allocated < 0.9 * now.memory.allocated;
}

}  // namespace

void set_recommendations(Plan& plan) {
  std::vector<Change> changes;
  add_memory_changes(plan, changes);
  add_method_changes(plan, changes);
  add_layout_changes(plan, changes);
  for (const auto& change : changes) {
    const Candidate then = evaluate(plan.shape, plan.count, change.setting, plan.machine);
    if (!useful(plan.chosen, then)) continue;
    plan.recommendations.push_back({change.text, effect(plan.chosen, then), then.memory.allocated / kGib,
                                    then.speed.tokens_per_s, then.memory.fits});
  }
  std::stable_sort(plan.recommendations.begin(), plan.recommendations.end(),
                   [](const Recommendation& a, const Recommendation& b) {
                     return a.fits != b.fits ? a.fits : a.tokens_per_s > b.tokens_per_s;
                   });
  if (plan.recommendations.size() > kMost) plan.recommendations.resize(kMost);
}

}  // namespace fx::knowledge::plan
