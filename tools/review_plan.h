// A run's planned memory and speed beside what was measured.
#pragma once

#include <vector>

#include "spec/finding.h"
#include "spec/run_spec.h"
#include "tools/run_folder.h"

namespace fx::tools {

// {"memory_gib": {planned, low, high, measured, ratio}, "tokens_per_s": {planned, measured, ratio}}, or {"reason"} why
// there is no comparison. Reads the model folder's config.json. CPU runs only: an event does not say which GPU it ran
// on.
Json plan_against_measured(const RunSpec& spec, const RunEvents& events);

// What the comparison means; empty when there is none.
std::vector<Finding> plan_findings(const Json& comparison);

}  // namespace fx::tools
