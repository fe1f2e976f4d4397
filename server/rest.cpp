#include "server/rest.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "server/problem.h"
#include "server/tool_list.h"
#include "tools/catalogue.h"

namespace fx::server {

bool is_json_type(std::string_view content_type) {
  const std::string type = to_lower(trim(content_type.substr(0, content_type.find(';'))));
  return type.empty() || type == "application/json" || (type.starts_with("application/") && type.ends_with("+json"));
}

HttpResponse call_over_rest(const std::vector<tools::Tool>& catalogue, tools::ToolContext& context,
                            const HttpRequest& request) {
  const std::string name = request.path.substr(request.path.rfind('/') + 1);
  const tools::Tool* tool = tools::find_tool(catalogue, name);
  if (tool == nullptr) {
    return problem(404, "there is no tool named '" + quote_input(name, 60) + "'", "GET /v1/tools lists them",
                   request.path);
  }
  if (!is_json_type(request.header("Content-Type").value_or(""))) {
    return problem(415, "the body must be application/json", "set the Content-Type header", request.path);
  }
  const auto arguments = parse_json(request.body);
  if (!arguments) return problem(arguments.error(), request.path);
  const auto answer = tools::call_tool(*tool, *arguments, context);
  if (!answer) return problem(answer.error(), request.path);
  return {200, to_text(*answer), "application/json", {}};
}

HttpResponse list_over_rest(const std::vector<tools::Tool>& catalogue) {
  return {200, to_text(mcp_tools(catalogue)), "application/json", {}};
}

}  // namespace fx::server
