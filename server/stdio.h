// MCP over standard input and output: one JSON-RPC message a line, nothing else is ever written there.
#pragma once

#include "server/mcp.h"

namespace fx::server {

// Serves until end of input, a closed output, or the end of the parent process. Tool calls run on a few threads, so
// that a slow one delays no other message; all are answered before it returns. Returns the exit code.
int serve_stdio(const Mcp& mcp, int input, int output);

}  // namespace fx::server
