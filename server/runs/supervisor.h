// The process that a run lives in: `fsdp-expert supervise RUN_FOLDER`. It waits for the run's turn, prepares the data,
// starts the ranks, watches them, ends them, and records what became of the run. No server needs to live meanwhile.
#pragma once

#include <filesystem>

namespace fx::server {

// The process's exit code: 0 when the run's end was recorded (whatever it was) or another supervisor has the run. Uses
// this process's signal handlers: SIGTERM and SIGINT stop the run.
int supervise(const std::filesystem::path& run_folder);

}  // namespace fx::server
