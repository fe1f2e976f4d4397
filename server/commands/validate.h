// `validate FILE...`: a linter for configs and launch commands.
#pragma once

#include <string>
#include <vector>

#include "server/commands/ask.h"

namespace fx::server {

struct ValidateOptions {
  std::vector<std::string> files;  // "-": standard input
  std::string format = "text";     // text, json, sarif
  int gpus = 0;                    // of the machine or cluster; 0: unknown
};

// Exit code 1 when there is an error among the findings.
int validate_command(Session& session, const ValidateOptions& options);

}  // namespace fx::server
