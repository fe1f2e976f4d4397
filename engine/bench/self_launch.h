// Ranks of a benchmark as processes of this program on this host.
#pragma once

#include <string>
#include <vector>

namespace fx::engine {

// Starts this program once a rank with the command and arguments, RANK and the other variables set, and waits for all.
// Returns the first exit code that is not 0.
int launch_self(int ranks, const std::vector<std::string>& command, const std::vector<std::string>& arguments);

}  // namespace fx::engine
