#include "server/router.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "server/lean_catalogue.h"
#include "server/openapi.h"
#include "server/problem.h"
#include "server/rest.h"
#include "server/version.h"

namespace fx::server {
namespace {

struct Route {
  std::string_view path;  // ":name" as the last segment: any one segment
  std::string_view allow;
};

constexpr std::string_view kRead = "GET, HEAD", kMcp = "POST, DELETE";
constexpr Route kRoutes[] = {
    {"/healthz", kRead},         {"/readyz", kRead}, {"/openapi.json", kRead}, {"/v1/tools", kRead},
    {"/v1/tools/:name", "POST"}, {"/mcp", kMcp},     {"/mcp/lean", kMcp},      {"/", kRead}};

const Route* find_route(std::string_view path) {
  for (const auto& route : kRoutes) {
    const std::size_t name = route.path.find(":name");
    if (name == std::string_view::npos ? path == route.path
                                       : path.size() > name && path.starts_with(route.path.substr(0, name)) &&
                                             path.find('/', name) == std::string_view::npos) {
      return &route;
    }
  }
  return nullptr;
}

bool allows(const Route& route, std::string_view method) {
  for (const auto name : split(route.allow, ',')) {
    if (trim(name) == method) return true;
  }
  return false;
}

HttpResponse json(const Json& body) {
  return {200, to_text(body), "application/json", {}};
}

}  // namespace

Router::Router(const std::vector<tools::Tool>& catalogue, Services& services, AccessPolicy policy)
    : catalogue_(catalogue),
      services_(services),
      policy_(std::move(policy)),
      lean_(lean_catalogue(catalogue)),
      mcp_(catalogue, services.context()),
      lean_mcp_(lean_, services.context()),
      mcp_http_(mcp_),
      lean_mcp_http_(lean_mcp_) {}

HttpService Router::service() {
  HttpService service;
  for (const auto& route : kRoutes) service.paths.emplace_back(route.path);
  service.gate = [this](const HttpRequest& request) { return gate(request); };
  service.handle = [this](const HttpRequest& request) { return handle(request); };
  service.refuse = [](int status, const HttpRequest& request) { return problem(status, "", "", request.path); };
  return service;
}

std::optional<HttpResponse> Router::gate(const HttpRequest& request) const {
  if (auto refusal = check_access(policy_, request)) return refusal;
  const Route* route = find_route(request.path);
  if (route == nullptr) {
    return problem(404, "there is nothing at this path", "see /openapi.json and /mcp", request.path);
  }
  if (allows(*route, request.method)) return std::nullopt;
  auto refusal = problem(405, "this path takes " + std::string(route->allow), "", request.path);
  refusal.headers.emplace_back("Allow", route->allow);
  return refusal;
}

HttpResponse Router::handle(const HttpRequest& request) {
  if (request.path.starts_with("/mcp")) {
    if (request.method == "POST" && !is_json_type(request.header("Content-Type").value_or(""))) {
      return problem(415, "the body must be application/json", "set the Content-Type header", request.path);
    }
    return (request.path == "/mcp" ? mcp_http_ : lean_mcp_http_).handle(request);
  }
  if (request.path == "/healthz") return json({{"status", "ok"}});
  if (request.path == "/readyz") return ready(request);
  if (request.path == "/openapi.json") return json(openapi_document(catalogue_));
  if (request.path == "/v1/tools") return list_over_rest(catalogue_);
  if (request.path == "/") {
    return json({{"name", kProgram},
                 {"version", kVersion},
                 {"rest", "/v1/tools"},
                 {"openapi", "/openapi.json"},
                 {"mcp", "/mcp"},
                 {"mcp_lean", "/mcp/lean"}});
  }
  return call_over_rest(catalogue_, services_.context(), request);
}

HttpResponse Router::ready(const HttpRequest& request) {
  const auto ready = services_.ready();
  return ready ? json({{"status", "ready"}}) : problem(ready.error(), request.path);
}

}  // namespace fx::server
