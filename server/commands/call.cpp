#include "server/commands/call.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "server/lean_catalogue.h"
#include "server/openapi.h"
#include "server/tool_list.h"
#include "tools/catalogue.h"

namespace fx::server {
namespace {

void print_line(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fputc('\n', stream);
}

Error unknown_tool(const std::vector<tools::Tool>& catalogue, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& tool : catalogue) names.push_back(tool.name);
  const auto near = nearest(name, names);
  return not_found("there is no tool named '" + quote_input(name, 60) + "'",
                   near ? "did you mean " + *near + "?" : "the tools are: " + join(names, ", "));
}

}  // namespace

int report_json(const Error& error) {
  print_line(stderr, to_text({{"error", error_to_json(error)}}));
  return info(error.code).exit_code;
}

int report(const Error& error) {
  if (error.details.empty()) print_line(stderr, "error: " + to_line(error));
  for (const auto& detail : error.details) print_line(stderr, "error: " + to_line(detail));
  return info(error.code).exit_code;
}

int call_command(const std::vector<tools::Tool>& catalogue, Services& services, const std::string& name,
                 const std::string& file) {
  const tools::Tool* tool = tools::find_tool(catalogue, name);
  if (tool == nullptr) return report_json(unknown_tool(catalogue, name));
  const bool from_stdin = file.empty() || file == "-";
  auto text = from_stdin ? read_stdin() : read_file(file);
  if (!text) return report_json(text.error());
  auto arguments = parse_json(*text, {.max_bytes = std::size_t{64} << 20});
  if (!arguments) return report_json(arguments.error());
  auto answer = tools::call_tool(*tool, *arguments, services.context());
  if (!answer) return report_json(answer.error());
  print_line(stdout, to_text(*answer));
  return 0;
}

int tools_command(const std::vector<tools::Tool>& catalogue, const std::string& format) {
  const Json document = format == "mcp"        ? mcp_tools(catalogue)
                        : format == "mcp-lean" ? mcp_tools(lean_catalogue(catalogue))
                        : format == "openai"   ? openai_tools(catalogue)
                                               : openapi_document(catalogue);
  print_line(stdout, to_text(document, 2));
  return 0;
}

}  // namespace fx::server
