// A run's curves, short enough to be read by a model.
#pragma once

#include "tools/run_folder.h"

namespace fx::tools {

inline constexpr std::size_t kCurvePoints = 50;

// {"loss": [[step, value], ...], "grad_norm", "lr", "tokens_per_s"}: at most kCurvePoints points each, the first and
// the last step as they are, each other point the mean of its stretch of steps. A value that is no number is null.
Json review_curves(const RunEvents& events);

}  // namespace fx::tools
