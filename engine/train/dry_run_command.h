// `fsdp-engine dry-run SPEC.json [--ranks N] [--json]`
#pragma once

#include <string>
#include <vector>

namespace fx::engine {

// The arguments behind the command's name; returns the exit code. The model folder need hold no more than config.json,
// the data need not be there. --ranks takes the place of the spec's ranks.
int dry_run_command(const std::vector<std::string>& arguments);

}  // namespace fx::engine
