// Attention written in operations instead of one fused kernel: every head's scores exist as tensors.
#pragma once

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

// Bytes per token of one layer on one rank.
struct Scores {
  double saved = 0;      // what forward keeps for backward
  double in_flight = 0;  // gradients at the fullest point of the softmax's backward, beside what is saved
  double traffic = 0;    // moved in forward
};

// All 0 where a fused kernel runs.
Scores attention_scores(const ModelShape& shape, const Setting& setting);

}  // namespace fx::knowledge::plan
