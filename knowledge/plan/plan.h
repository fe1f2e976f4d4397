// The whole plan: settings chosen, memory, speed, strategy, recommendations.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "knowledge/plan/memory.h"
#include "knowledge/plan/request.h"
#include "knowledge/plan/resolve.h"
#include "knowledge/plan/speed.h"

namespace fx::knowledge::plan {

struct Candidate {
  Setting setting;
  MemoryPlan memory;
  SpeedPlan speed;
};

// One ranked change with its effect against the planned setting.
struct Recommendation {
  std::string change;  // "activation_checkpointing: none -> full"
  std::string why;     // effect in numbers
  double memory_gib = 0, tokens_per_s = 0;
  bool fits = false;
};

struct Plan {
  bool applicable = true;
  std::string strategy;  // fsdp, hsdp, ddp, single-gpu, megatron-style ep/pp, none
  std::vector<std::string> reasons, assumptions, steps;
  Machine machine;
  ModelShape shape;
  ParamCount count;
  Candidate chosen;
  std::vector<Recommendation> recommendations;
  double hours = 0, cost = 0;                              // 0: no data size or no price given
  std::vector<std::pair<std::string, std::string>> files;  // name, text
};

// Errors name the field. method "none" is an answer with applicable = false. Pure but for reading this host's size when
// gpu = cpu.
Result<Plan> make_plan(const PlanArgs& args);

Candidate evaluate(const ModelShape& shape, const ParamCount& count, const Setting& setting, const Machine& machine);
// Decides what was left open: the fastest setting that fits with spare memory, the simpler of two that are about equal;
// the one that needs the least memory when none fits. Adds to reasons why.
Candidate choose(const ModelShape& shape, const ParamCount& count, const Resolved& resolved, const Machine& machine,
                 std::vector<std::string>& reasons);
// strategy and reasons: also when FSDP is the wrong tool for the asked setting.
void set_strategy(Plan& plan);
// Ranked changes, and the ladder from the simplest setting to the chosen one.
void set_recommendations(Plan& plan);
// Texts of ready files for the chosen setting: accelerate, torchtitan, torchrun, sbatch, run_spec.
void write_files(Plan& plan, const std::vector<std::string>& names);

std::string gib_text(double bytes);  // "12.3 GiB"

}  // namespace fx::knowledge::plan
