// The search over what the caller left open.
#pragma once

#include "knowledge/plan/plan.h"
#include "knowledge/plan/resolve.h"

namespace fx::knowledge::plan {

// How far a search may go. Each step allows what costs more: speed or effort, then what is computed, then what is
// trained.
enum class Reach {
  kUsual,       // ways of sharding, checkpointing, loss, compiler, batch, tensor, context and expert parallelism
  kCostly,      // also CPU offload and pipelines
  kLowerState,  // also 8-bit optimizer states and 2-byte master weights
  kAdapters,    // also adapters instead of all weights, where the method was not given
};

// One way of spreading the work.
struct Layout {
  Sharding sharding = Sharding::kNone;
  bool reshard = true;
  double tp = 1, cp = 1, pp = 1, ep = 1;
  double shard_size = 0;  // HSDP: data-parallel ranks that share one copy
};

// What a block keeps and runs as; costs neither quality nor another layout.
struct Trim {
  Checkpointing checkpointing;
  Loss loss;
  bool compile;
};

// Every combination of the three is within reach; what the caller fixed has one value. Each list has the simpler ones
// first; the last trim needs the least memory.
struct Space {
  std::vector<Layout> layouts;
  std::vector<Setting> cores;  // method, offload, optimizer, dtypes
  std::vector<Trim> trims;
};
Space space_in_reach(const ModelShape& shape, const Resolved& resolved, const Machine& machine, Reach reach);

Setting assemble(const Setting& core, const Layout& layout, const Trim& trim);

// Micro-batch and accumulation, by growing micro-batch.
struct Batch {
  double micro = 1, accumulation = 1;
};
std::vector<Batch> batches_of(const Resolved& resolved, const Machine& machine, const Setting& setting);

struct Choice {
  Candidate best;
  std::vector<Candidate> ranked;  // the best of each way of spreading the work: those that fit first, by speed
  std::vector<std::string> reasons;
};

// The fastest setting that fits with spare memory, the simpler of two that are about equal; the one that needs the
// least memory when none fits. A step of reach is taken only when nothing within the last one fits.
Choice choose(const ModelShape& shape, const ParamCount& count, const Resolved& resolved, const Machine& machine);

}  // namespace fx::knowledge::plan
