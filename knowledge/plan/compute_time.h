// Time of the arithmetic of one micro-batch on one rank.
#pragma once

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

// Share of the memory bandwidth that streams reach (copy and triad benchmarks: 0.8 - 0.92).
inline constexpr double kStreamShare = 0.85;

struct ComputeTime {
  double forward = 0, backward = 0;  // seconds, recomputation in backward
  double gemm = 0, attention = 0, elementwise = 0, dequant = 0,
         launch = 0;  // parts of the sum, before the launch floor
};
// tokens: of one micro-batch on one rank (context parallelism already divided).
ComputeTime compute_time(const RankModel& model, const Setting& setting, const Machine& machine, double tokens);

}  // namespace fx::knowledge::plan
