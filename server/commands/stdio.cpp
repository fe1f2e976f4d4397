#include "server/commands/stdio.h"

#include <unistd.h>

#include "server/commands/call.h"
#include "server/stdio.h"

namespace fx::server {

int stdio_command(const std::vector<tools::Tool>& catalogue, Services& services) {
  // Whatever else prints in this process goes to standard error from here on.
  const int output = ::dup(STDOUT_FILENO);
  if (output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return report(unavailable("standard output is closed", "start this command from an MCP client"));
  }
  const Mcp mcp(catalogue, services.context());
  return serve_stdio(mcp, STDIN_FILENO, output);
}

}  // namespace fx::server
