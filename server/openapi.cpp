#include "server/openapi.h"

#include <nlohmann/json.hpp>

#include "server/version.h"

namespace fx::server {
namespace {

Json problem_schema() {
  return {{"type", "object"},
          {"description", "RFC 9457 problem details"},
          {"properties",
           {{"type", {{"type", "string"}}},
            {"title", {{"type", "string"}}},
            {"status", {{"type", "integer"}}},
            {"detail", {{"type", "string"}}},
            {"instance", {{"type", "string"}}},
            {"code", {{"type", "string"}, {"description", "Stable name of the error"}}},
            {"hint", {{"type", "string"}, {"description", "What to do about it"}}},
            {"field", {{"type", "string"}, {"description", "The argument that is wrong"}}},
            {"errors", {{"type", "array"}, {"items", {{"type", "object"}}}}}}},
          {"required", {"type", "title", "status", "detail", "code"}}};
}

Json json_response(const std::string& description, Json schema) {
  return {{"description", description}, {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

Json problem_response(const std::string& description) {
  return {{"description", description},
          {"content", {{"application/problem+json", {{"schema", {{"$ref", "#/components/schemas/Problem"}}}}}}}};
}

void add_problems(Json& responses, bool with_body) {
  responses["403"] = problem_response("Foreign Host or Origin");
  responses["405"] = problem_response("Another method; Allow lists the right ones");
  if (with_body) {
    responses["400"] = problem_response("Arguments that cannot be used");
    responses["404"] = problem_response("Something the arguments name does not exist");
    responses["409"] = problem_response("Clashes with the current state");
    responses["413"] = problem_response("Body over 4 MiB");
    responses["415"] = problem_response("Body is not application/json");
    responses["422"] = problem_response("Understood, but this build or version cannot do it");
    responses["503"] = problem_response("A resource is missing now; trying again may help");
  }
  responses["500"] = problem_response("Our own fault");
}

Json tool_operation(const tools::Tool& tool) {
  Json responses = {{"200", json_response("The answer", tool.output_schema.empty() ? Json{{"type", "object"}}
                                                                                   : Json::parse(tool.output_schema))}};
  add_problems(responses, true);
  return {{"operationId", tool.name},
          {"summary", tool.description},
          {"tags", {"tools"}},
          {"requestBody",
           {{"required", true}, {"content", {{"application/json", {{"schema", Json::parse(tool.input_schema)}}}}}}},
          {"responses", std::move(responses)}};
}

Json get_operation(const std::string& id, const std::string& summary) {
  Json responses = {{"200", json_response("The answer", {{"type", "object"}})}};
  add_problems(responses, false);
  return {{"operationId", id}, {"summary", summary}, {"tags", {"server"}}, {"responses", std::move(responses)}};
}

}  // namespace

Json openapi_document(const std::vector<tools::Tool>& catalogue) {
  Json paths = Json::object();
  for (const auto& tool : catalogue) paths["/v1/tools/" + tool.name] = {{"post", tool_operation(tool)}};
  paths["/v1/tools"] = {{"get", get_operation("list_tools", "All tools with their schemas")}};
  paths["/healthz"] = {{"get", get_operation("healthz", "The process answers")}};
  paths["/readyz"] = {{"get", get_operation("readyz", "The knowledge base and the run store can be used")}};
  paths["/readyz"]["get"]["responses"]["503"] = problem_response("Not ready yet");
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "fsdp-expert"},
            {"version", kVersion},
            {"summary", "Validates, plans, diagnoses and runs FSDP training"},
            {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
          {"servers", {{{"url", "/"}}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", {{"Problem", problem_schema()}}}}}};
}

}  // namespace fx::server
