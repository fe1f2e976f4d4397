#include "server/tool_list.h"

#include <nlohmann/json.hpp>

namespace fx::server {

Json mcp_tool(const tools::Tool& tool) {
  // openWorldHint is false: no tool reaches beyond this machine.
  return {{"name", tool.name},
          {"description", tool.description},
          {"inputSchema", Json::parse(tool.input_schema)},
          {"annotations", {{"readOnlyHint", tool.read_only}, {"openWorldHint", false}}}};
}

Json mcp_tools(const std::vector<tools::Tool>& catalogue) {
  Json list = Json::array();
  for (const auto& tool : catalogue) list.push_back(mcp_tool(tool));
  return {{"tools", std::move(list)}};
}

Json openai_tools(const std::vector<tools::Tool>& catalogue) {
  Json list = Json::array();
  for (const auto& tool : catalogue) {
    list.push_back(
        {{"type", "function"},
         {"function",
          {{"name", tool.name}, {"description", tool.description}, {"parameters", Json::parse(tool.input_schema)}}}});
  }
  return list;
}

}  // namespace fx::server
