// Does the job slow down when it gets larger? Reads step times and rates beside numbers of nodes or GPUs.
#pragma once

#include <vector>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {

struct Scaling {
  bool worse = false;      // more workers, and a step takes at least 1.5 times as long, or the rate falls
  std::vector<int> lines;  // of the two runs that show it
};

Scaling read_scaling(const Scene& scene);

}  // namespace fx::knowledge
