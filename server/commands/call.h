// `call TOOL [FILE]` and `tools`: the catalogue for scripts.
#pragma once

#include <string>
#include <vector>

#include "server/services.h"

namespace fx::server {

// Both print an error on standard error and return its exit code: one JSON line for scripts, one sentence a mistake
// for people.
int report_json(const Error& error);
int report(const Error& error);

// Reads the arguments from file ("" or "-": standard input), prints the result. Returns the exit code.
int call_command(const std::vector<tools::Tool>& catalogue, Services& services, const std::string& tool,
                 const std::string& file);

// format: "mcp", "openai" or "openapi".
int tools_command(const std::vector<tools::Tool>& catalogue, const std::string& format);

}  // namespace fx::server
