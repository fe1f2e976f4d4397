// Time of one optimizer step on one rank, from what bounds each part of it.
#pragma once

#include <string_view>

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

struct SpeedPlan {
  double tokens_per_s = 0;    // per GPU: a data-parallel rank's rate divided over its tp, pp and cp ranks
  double mfu = 0;             // model FLOPs over the GPU's peak: attention whole, frozen weights without their gradient
  double step_s = 0;          // one optimizer step
  std::string_view bound_by;  // compute, memory_bandwidth, communication, offload, launch
  // Seconds per micro-batch on one rank.
  double gemm_s = 0, attention_s = 0, elementwise_s = 0, dequant_s = 0, comm_s = 0, exposed_comm_s = 0, offload_s = 0,
         optimizer_s = 0, launch_s = 0, bubble_s = 0;
};

SpeedPlan plan_speed(const ModelShape& shape, const ParamCount& count, const Setting& setting, const Machine& machine);

}  // namespace fx::knowledge::plan
