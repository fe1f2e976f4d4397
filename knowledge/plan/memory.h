// Peak memory of one rank: the largest of named moments, each the sum of what is alive then.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "knowledge/plan/activation.h"

namespace fx::knowledge::plan {

struct Moment {
  std::string_view name;  // loss, backward_start, backward_end, optimizer_step
  double bytes = 0;
};

struct MemoryPlan {
  double allocated = 0, reserved = 0, nvidia_smi = 0;  // bytes on the device, heaviest rank
  double varied = 0;  // bytes of cached blocks that batches of varied length leave; in reserved where that is known
  double graph_weights =
      0;              // bytes of gathered weights that some set-ups free between forward and backward; not in low
  double spared = 0;  // bytes of the layer in work that other kernels would not need; not in low
  double low = 0, high = 0;  // bytes: range of the allocated figure's true value, in terms of reserved memory
  double needed = 0;         // bytes below which the run cannot work, allocator's unavoidable waste included
  double host = 0;           // bytes a machine (offload), all its ranks
  std::string_view peak_moment;
  std::vector<Moment> moments;
  std::vector<std::pair<std::string_view, double>> components;  // bytes alive at the peak; sums to allocated
  bool fits = false;
};

MemoryPlan plan_memory(const ModelShape& shape, const ParamCount& count, const Setting& setting,
                       const Machine& machine);

}  // namespace fx::knowledge::plan
