// `stdio`: MCP for a client that starts us as its child.
#pragma once

#include <vector>

#include "server/services.h"

namespace fx::server {

int stdio_command(const std::vector<tools::Tool>& catalogue, Services& services);

}  // namespace fx::server
