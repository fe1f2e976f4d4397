#include "server/lean_catalogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "tools/catalogue.h"

namespace fx::server {
namespace {

using tools::Tool;
using tools::ToolContext;

// 43 tokens of o200k_base with the name: every word here is paid for in every conversation.
constexpr const char* kDescription = "PyTorch FSDP expert. op=help first.";
constexpr const char* kSchema = R"({"type":"object","properties":{"op":{"type":"string"},"args":{"type":"object"}}})";
constexpr const char* kHelp = "help";

// "text, filename?, context?"
std::string arguments_of(const Tool& tool) {
  const Json schema = Json::parse(tool.input_schema);
  const Json required = schema.value("required", Json::array());
  const Json properties = schema.value("properties", Json::object());
  std::string out;
  for (const auto& [name, unused] : properties.items()) {
    const bool needed = std::find(required.begin(), required.end(), name) != required.end();
    out += (out.empty() ? "" : ", ") + name + (needed ? "" : "?");
  }
  return out;
}

Json list_of(const std::vector<Tool>& catalogue) {
  Json operations = Json::object();
  for (const auto& tool : catalogue) operations[tool.name] = {{"does", tool.description}, {"args", arguments_of(tool)}};
  return {{"usage",
           "op: one of these; args: an object with its arguments. op=help with args {\"op\": NAME} shows their "
           "types and meaning."},
          {"operations", std::move(operations)}};
}

Error unknown(const std::string& field, const std::string& name, const std::vector<Tool>& catalogue) {
  std::string names = kHelp;
  for (const auto& tool : catalogue) names += ", " + tool.name;
  return invalid_argument(field, "there is no operation '" + quote_input(name, 60) + "'", "use one of: " + names);
}

Result<Json> help(const std::vector<Tool>& catalogue, const Json& arguments) {
  if (!arguments.contains("op")) return list_of(catalogue);
  if (!arguments["op"].is_string()) return invalid_argument("args.op", "must be the name of an operation");
  const auto name = arguments["op"].get<std::string>();
  const Tool* tool = tools::find_tool(catalogue, name);
  if (tool == nullptr) return unknown("args.op", name, catalogue);
  return Json{{"op", tool->name}, {"does", tool->description}, {"args", Json::parse(tool->input_schema)}};
}

Result<Json> run(const std::vector<Tool>& catalogue, const Json& arguments, ToolContext& context) {
  const auto op = arguments.find("op");
  if (op != arguments.end() && !op->is_string()) {
    return invalid_argument("op", "must be the name of an operation", "op \"help\" lists them");
  }
  const auto given = arguments.find("args");
  const Json args = given == arguments.end() || given->is_null() ? Json::object() : *given;
  if (!args.is_object()) return invalid_argument("args", "must be an object with the operation's arguments");
  const std::string name = op == arguments.end() ? kHelp : op->get<std::string>();
  if (name == kHelp) return help(catalogue, args);
  const Tool* tool = tools::find_tool(catalogue, name);
  return tool == nullptr ? unknown("op", name, catalogue) : tools::call_tool(*tool, args, context);
}

}  // namespace

std::vector<Tool> lean_catalogue(const std::vector<Tool>& catalogue) {
  Tool tool;
  tool.name = "fsdp";
  tool.description = kDescription;
  tool.input_schema = kSchema;
  tool.read_only = std::all_of(catalogue.begin(), catalogue.end(), [](const Tool& one) { return one.read_only; });
  tool.handler = [&catalogue](const Json& arguments, ToolContext& context) {
    return run(catalogue, arguments, context);
  };
  return {std::move(tool)};
}

}  // namespace fx::server
