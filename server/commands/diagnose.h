// `diagnose LOG...`: the root cause of a failed run from its logs.
#pragma once

#include <string>
#include <vector>

#include "server/commands/ask.h"

namespace fx::server {

struct DiagnoseOptions {
  std::vector<std::string> logs;  // "-": standard input
  bool json = false;
};

int diagnose_command(const DiagnoseOptions& options);

}  // namespace fx::server
