// What the run tools answer about one run: its row, its ranks and the newest of its events.
#pragma once

#include <chrono>

#include "tools/run_folder.h"
#include "tools/run_service.h"
#include "tools/tool.h"

namespace fx::tools {

inline constexpr double kMaxWaitSeconds = 15;  // below every client's own limit

struct RunArguments {
  std::string run_id;
  double wait_s = 0;
};
std::string run_arguments_schema();
Result<RunArguments> parse_run_arguments(const Json& arguments);

// The run, as soon as it has another state than since, or ended, or wait_s is over.
Result<RunRecord> wait_for_change(RunService& runs, const RunArguments& arguments);
// The same, but only its end counts.
Result<RunRecord> wait_for_end(RunService& runs, const RunArguments& arguments);

Json run_answer(const RunRecord& run);
// The first cause of a diagnosis in short; null when there is none.
Json brief_cause(const RunRecord& run);

}  // namespace fx::tools
