#include "server/catalogue_testing.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace fx::server {
namespace {

tools::Tool make(const std::string& name, std::function<Result<Json>(const Json&, tools::ToolContext&)> handler) {
  return {name, "For tests.",   R"({"type":"object","properties":{"text":{"type":"string"}}})",
          "",   name == "echo", std::move(handler)};
}

}  // namespace

std::vector<tools::Tool> testing_catalogue() {
  return {make("echo", [](const Json& arguments, tools::ToolContext&) -> Result<Json> { return arguments; }),
          make("refuse",
               [](const Json&, tools::ToolContext&) -> Result<Json> {
                 return combine(
                     {invalid_argument("a.b", "must be a number", "write 3"), invalid_argument("c", "is missing")});
               }),
          make("missing", [](const Json&, tools::ToolContext&) -> Result<Json> { return not_found("no run r1"); }),
          make("broken", [](const Json&, tools::ToolContext&) -> Result<Json> { throw std::runtime_error("bug"); })};
}

}  // namespace fx::server
