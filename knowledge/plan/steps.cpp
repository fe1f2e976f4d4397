// The ladder from the simplest setting to the chosen one, and what each rung is worth.
#include <functional>

#include "knowledge/plan/plan.h"
#include "knowledge/plan/resolve.h"

namespace fx::knowledge::plan {
namespace {

// One measure of the chosen setting: how to take it and how to do without it.
struct Measure {
  std::string name;
  std::function<void(Setting&)> take, drop;
};

std::string whole(double value) {
  return std::to_string(static_cast<long long>(value));
}

void add_layout_measures(const Setting& s, const Machine& m, std::vector<Measure>& out) {
  const auto split = [&](const char* name, double Setting::*size) {
    if (s.*size <= 1) return;
    const double n = s.*size;
    out.push_back({name + whole(n), [=](Setting& x) { x.*size = n; }, [=](Setting& x) { x.*size = 1; }});
  };
  if (m.world() > 1 && s.sharding != Sharding::kDdp && s.sharding != Sharding::kNone) {
    const Sharding sharding = s.sharding;
    const bool reshard = s.reshard;
    const Shards n = shards_of(s, m);
    out.push_back({"sharding (" + std::string(to_string(sharding)) + ", " + whole(n.optimizer) + " GPUs" +
                       (is_fsdp(sharding) && !reshard ? ", parameters kept from forward to backward)" : ")"),
                   [=](Setting& x) { x.sharding = sharding, x.reshard = reshard; },
                   [](Setting& x) { x.sharding = Sharding::kDdp, x.reshard = true, x.offload = false; }});
  }
  split("tensor parallelism over ", &Setting::tp);
  split("context parallelism over ", &Setting::cp);
  split("expert parallelism over ", &Setting::ep);
  split("a pipeline of ", &Setting::pp);
}

void add_training_measures(const Setting& s, std::vector<Measure>& out) {
  if (is_lora(s)) {
    const Setting adapters = s;
    out.push_back({std::string(to_string(s.method)) + " instead of all weights",
                   [=](Setting& x) { x.method = adapters.method, x.quant = adapters.quant; },
                   [](Setting& x) { x.method = Method::kFull, x.quant = Quant::kNone; }});
  }
  if (s.master_bytes < 4 && s.method == Method::kFull) {
    const double master = s.master_bytes, reduce = s.reduce_bytes;
    out.push_back({"2-byte master weights", [=](Setting& x) { x.master_bytes = master, x.reduce_bytes = reduce; },
                   [](Setting& x) { x.master_bytes = x.reduce_bytes = 4; }});
  }
  if (s.optimizer != Optimizer::kAdamw && s.optimizer != Optimizer::kAdamwFused) {
    const Optimizer optimizer = s.optimizer;
    out.push_back({"optimizer " + std::string(to_string(optimizer)), [=](Setting& x) { x.optimizer = optimizer; },
                   [](Setting& x) { x.optimizer = Optimizer::kAdamw; }});
  }
}

std::vector<Measure> measures_of(const Setting& s, const Machine& m) {
  std::vector<Measure> out;
  add_training_measures(s, out);
  if (s.loss != Loss::kStandard && !m.cpu) {
    const Loss loss = s.loss;
    out.push_back({std::string(to_string(loss)) + " loss", [=](Setting& x) { x.loss = loss; },
                   [](Setting& x) { x.loss = Loss::kStandard; }});
  }
  if (s.checkpointing != Checkpointing::kNone) {
    const Checkpointing checkpointing = s.checkpointing;
    out.push_back({std::string(to_string(checkpointing)) + " activation checkpointing",
                   [=](Setting& x) { x.checkpointing = checkpointing; },
                   [](Setting& x) { x.checkpointing = Checkpointing::kNone; }});
  }
  if (s.compile) {
    out.push_back({"torch.compile", [](Setting& x) { x.compile = true; }, [](Setting& x) { x.compile = false; }});
  }
  add_layout_measures(s, m, out);
  if (s.offload) {
    out.push_back({"CPU offload", [](Setting& x) { x.offload = true; }, [](Setting& x) { x.offload = false; }});
  }
  return out;
}

}  // namespace

void set_steps(Plan& plan) {
  const auto needs = [&](const Setting& s) { return evaluate(plan.shape, plan.count, s, plan.machine).memory; };
  const auto measures = measures_of(plan.chosen.setting, plan.machine);
  Setting x = plan.chosen.setting;
  for (const auto& measure : measures) measure.drop(x);
  const std::string room = " of " + gib_text(plan.machine.gpu.memory_gib * kGib);
  const auto verdict = [](const MemoryPlan& memory) { return memory.fits ? ", fits" : ", does not fit"; };
  MemoryPlan now = needs(x);
  plan.steps.push_back(std::string(plan.machine.world() > 1 ? "plain data parallelism" : "one device, nothing else") +
                       ": " + gib_text(now.needed) + " needed" + room + verdict(now));
  for (const auto& measure : measures) {
    measure.take(x);
    now = needs(x);
    Setting without = plan.chosen.setting;
    measure.drop(without);
    plan.steps.push_back("+ " + measure.name + ": " + gib_text(now.needed) + verdict(now) +
                         "; the chosen setting without it would need " + gib_text(needs(without).needed));
  }
}

}  // namespace fx::knowledge::plan
