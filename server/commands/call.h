// `call TOOL [FILE]` and `tools`: the catalogue for scripts.
#pragma once

#include <string>
#include <vector>

#include "server/services.h"

namespace fx::server {

// Prints an error as one JSON line on standard error and returns its exit code.
int report(const Error& error);

// Reads the arguments from file ("" or "-": standard input), prints the result. Returns the exit code.
int call_command(const std::vector<tools::Tool>& catalogue, Services& services, const std::string& tool,
                 const std::string& file);

// format: "mcp", "openai" or "openapi".
int tools_command(const std::vector<tools::Tool>& catalogue, const std::string& format);

}  // namespace fx::server
