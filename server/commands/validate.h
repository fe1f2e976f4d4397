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
  bool fix = false;                // write mechanical fixes into the files first
  bool diff = false;               // print what fix would change instead of findings
};

// Reads every file, also when one of them cannot be read. Exit code 0: no error among the findings; 1: some; 2 and
// more: the code of the last failure.
int validate_command(Session& session, const ValidateOptions& options);

}  // namespace fx::server
