// The catalogue as clients want it: MCP tools, OpenAI functions.
#pragma once

#include <vector>

#include "tools/tool.h"

namespace fx::server {

// {"name", "description", "inputSchema", "annotations"}: one entry of MCP's tools/list.
Json mcp_tool(const tools::Tool& tool);
// {"tools": [...]}, in catalogue order.
Json mcp_tools(const std::vector<tools::Tool>& catalogue);
// [{"type": "function", "function": {"name", "description", "parameters"}}]
Json openai_tools(const std::vector<tools::Tool>& catalogue);

}  // namespace fx::server
