// The search over what the caller left open.
#pragma once

#include "knowledge/plan/plan.h"
#include "knowledge/plan/resolve.h"

namespace fx::knowledge::plan {

// How far a search may go. Each step allows what costs more: speed or effort, then what is computed.
enum class Reach {
  kUsual,       // ways of sharding, checkpointing, micro-batch, tensor, context and expert parallelism
  kCostly,      // also CPU offload, pipelines, a loss that never holds the logits
  kLowerState,  // also 8-bit optimizer states and 2-byte master weights
};

// Every setting within reach, simpler ones first; what the caller fixed stays as it is.
std::vector<Setting> settings_in_reach(const ModelShape& shape, const Resolved& resolved, const Machine& machine,
                                       Reach reach);

struct Choice {
  Candidate best;
  std::vector<Candidate> ranked;  // the best of each way of spreading the work: those that fit first, by speed
  std::vector<std::string> reasons;
};

// The fastest setting that fits with spare memory, the simpler of two that are about equal; the one that needs the
// least memory when none fits. A step of reach is taken only when nothing within the last one fits.
Choice choose(const ModelShape& shape, const ParamCount& count, const Resolved& resolved, const Machine& machine);

}  // namespace fx::knowledge::plan
