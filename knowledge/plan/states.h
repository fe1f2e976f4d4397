// Bytes of weights, gradients and optimizer state on one rank.
#pragma once

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

struct States {
  double weights = 0;        // resident weights, frozen ones included
  double grads = 0;          // once backward has ended
  double optimizer = 0;      // moments, and master weights where they are a copy
  double step_temp = 0;      // what the optimizer step allocates on top
  double gathered = 0;       // full parameters alive in forward and backward: current and prefetched unit, root unit
  double kept_gathered = 0;  // full parameters that stay from forward to backward (reshard_after_forward = false)
  double graph_weights = 0;  // of kept_gathered: what autograd's graph keeps in some set-ups only
  double whole_grads = 0;    // unsharded gradients kept between micro-batches
  double buckets = 0;        // copies of the gradients that are reduced
  double root_reduce = 0;    // full gradients of the root unit and the reduction's input, at the end of backward
  double unit_grad = 0;      // full gradient of one unit before it is reduced, and the reduction's input
  double quant_temp = 0;     // one dequantised matrix
  double stepped = 0;        // parameters that this rank's optimizer steps on
};

States count_states(const RankModel& model, const Setting& setting, const Machine& machine);
// Bytes an element of a quantised weight, scales included.
double quant_bytes(Quant quant);
// Bytes of optimizer state an element of a master_bytes-wide parameter.
double optimizer_bytes(Optimizer optimizer, double master_bytes);

}  // namespace fx::knowledge::plan
