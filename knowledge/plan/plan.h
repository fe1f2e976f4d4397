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

// One of the questions that a user of FSDP asks before a run, answered from this plan's numbers.
struct Answer {
  std::string id, text;  // id: "best_batch"
};

struct Plan {
  bool applicable = true;
  std::string strategy;  // fsdp, hsdp, ddp, single-gpu, megatron-style ep/pp, none
  std::vector<std::string> reasons, assumptions, steps;
  std::vector<std::string> limits;  // what the arguments leave open, and what it may cost
  Machine machine;
  ModelShape shape;
  ParamCount count;
  Candidate chosen;
  double speed_low = 0, speed_high = 0;  // tokens a second and GPU between which the true speed is expected
  std::vector<Candidate> ranked;  // the best setting of each way of spreading the work, fitting ones first, by speed
  std::vector<Recommendation> recommendations;
  std::vector<Answer> answers;
  double tokens = 0;                                       // to train on; 0: not given
  double hours = 0, cost = 0;                              // 0: no data size or no price given
  std::vector<std::pair<std::string, std::string>> files;  // name, text
};

// Errors name the field. method "none" is an answer with applicable = false. Pure but for reading this host's size when
// gpu = cpu.
Result<Plan> make_plan(const PlanArgs& args);

Candidate evaluate(const ModelShape& shape, const ParamCount& count, const Setting& setting, const Machine& machine);
// strategy and reasons: also when FSDP is the wrong tool for the asked setting.
void set_strategy(Plan& plan);
// Ranked changes of one setting each.
void set_recommendations(Plan& plan);
// The ladder from the simplest setting to the chosen one: what each rung needs, and the plan without it.
void set_steps(Plan& plan);
// Peak, wrapping, batch, sequence, GPUs, offload, checkpointing, dtypes, HSDP, resharding, and who holds what.
void set_answers(Plan& plan);
// The honest range of the planned speed.
void set_speed_range(Plan& plan);
// What the plan does not know or does not model for the chosen setting.
void set_limits(Plan& plan);
// Texts of ready files for the chosen setting: accelerate, torchtitan, torchrun, sbatch, run_spec.
void write_files(Plan& plan, const std::vector<std::string>& names);

std::string gib_text(double bytes);  // "12.3 GiB"

}  // namespace fx::knowledge::plan
