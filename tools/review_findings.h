// What a run's own numbers say: did the loss fall, was the speed steady, was memory short. Pure functions of its
// events.
#pragma once

#include <vector>

#include "spec/finding.h"
#include "spec/run_spec.h"
#include "tools/run_folder.h"

namespace fx::tools {

// memory_bytes: what all ranks on this machine may use together; 0: unknown. Each finding's message holds the numbers
// it rests on. Severity: error = the result is worthless, warning = worth a look, info = as it should be.
std::vector<Finding> review_events(const RunEvents& events, const RunSpec& spec, double memory_bytes);

double median(std::vector<double> values);  // 0 when empty
// Tokens a second over all ranks in the usual step: the median without the first one, which warms up.
double steady_tokens_per_s(const RunEvents& events);
double peak_rank_bytes(const RunEvents& events);  // of the largest rank

}  // namespace fx::tools
