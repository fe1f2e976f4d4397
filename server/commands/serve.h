// `serve`: REST and MCP over HTTP until SIGTERM or SIGINT.
#pragma once

#include <string>
#include <vector>

#include "server/services.h"

namespace fx::server {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8765;
  std::vector<std::string> allow_hosts;
  std::string token_file;  // else $FSDP_EXPERT_TOKEN
};

// Returns the exit code.
int serve_command(const std::vector<tools::Tool>& catalogue, Services& services, const ServeOptions& options);

}  // namespace fx::server
