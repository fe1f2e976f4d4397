// The ordered list of all tools.
#pragma once

#include <string_view>
#include <vector>

#include "tools/tool.h"

namespace fx::tools {

std::vector<Tool> make_catalogue();
const Tool* find_tool(const std::vector<Tool>& catalogue, std::string_view name);

// Runs a tool from JSON text: parses, checks that it is an object, calls the handler and turns every exception into an
// internal error. The one edge at which tool code's exceptions are caught.
Result<Json> call_tool(const Tool& tool, const Json& arguments, ToolContext& context);

}  // namespace fx::tools
