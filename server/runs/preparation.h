// What happens before ranks start: checks of the machine, text turned into a token file, the spec that ranks read.
#pragma once

#include <filesystem>
#include <functional>

#include "server/runs/supervisor_log.h"
#include "spec/run_spec.h"

namespace fx::server {

// Writes engine.json into the run's folder and returns its path. stop_asked is polled; when it says yes, the work ends
// with kConflict. Every other error says why the run cannot begin.
Result<std::filesystem::path> prepare_run(const std::filesystem::path& folder, const RunSpec& spec,
                                          const SupervisorLog& log, const std::function<bool()>& stop_asked);

}  // namespace fx::server
