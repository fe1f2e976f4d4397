#include "server/access.h"

#include <algorithm>

#include "base/text.h"
#include "server/problem.h"

namespace fx::server {
namespace {

// "name:port", "[v6]:port" or either without a port -> the name; nullopt when it is neither.
std::optional<std::string> host_name(std::string_view authority) {
  std::string_view name = authority, port;
  const std::size_t after_v6 = authority.starts_with('[') ? authority.find(']') : 0;
  if (after_v6 == std::string_view::npos) return std::nullopt;
  const std::size_t colon = authority.find(':', after_v6);
  if (colon != std::string_view::npos) {
    name = authority.substr(0, colon);
    port = authority.substr(colon + 1);
    const auto number = to_integer(port);
    if (port.size() > 5 || !number || *number < 0 || *number > 65535) return std::nullopt;
  }
  if (name.empty()) return std::nullopt;
  return to_lower(name);
}

bool allowed(const AccessPolicy& policy, std::string_view authority) {
  const auto name = host_name(authority);
  if (!name) return false;
  return is_loopback(*name) || std::find(policy.hosts.begin(), policy.hosts.end(), *name) != policy.hosts.end();
}

bool origin_allowed(const AccessPolicy& policy, std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (starts_with_ignoring_case(origin, scheme)) return allowed(policy, origin.substr(scheme.size()));
  }
  return false;
}

// Takes as long for a wrong first character as for a wrong last one.
bool same_text(std::string_view given, std::string_view wanted) {
  unsigned difference = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i % wanted.size()]);
  }
  return difference == 0;
}

std::optional<HttpResponse> check_token(const AccessPolicy& policy, const HttpRequest& request) {
  if (policy.token.empty() || request.path == "/healthz") return std::nullopt;
  constexpr std::string_view kScheme = "Bearer ";
  const std::string given = request.header("Authorization").value_or("");
  if (starts_with_ignoring_case(given, kScheme) && same_text(given.substr(kScheme.size()), policy.token)) {
    return std::nullopt;
  }
  auto refusal =
      problem(401, "this server needs its token in the header 'Authorization: Bearer ...'", "", request.path);
  refusal.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"fsdp-expert\"");
  return refusal;
}

}  // namespace

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1" || host == "[::1]") return true;
  const auto parts = split(host, '.');
  return parts.size() == 4 && parts.front() == "127" && std::all_of(parts.begin(), parts.end(), [](auto part) {
           const auto number = to_integer(part);
           return number && *number >= 0 && *number <= 255 && part.size() <= 3;
         });
}

std::optional<HttpResponse> check_access(const AccessPolicy& policy, const HttpRequest& request) {
  const std::string host = request.header("Host").value_or("");
  if (request.header_count("Host") != 1 || !allowed(policy, host)) {
    return problem(403, "the Host header '" + quote_input(host, 80) + "' is not one of this server's names",
                   "use localhost or 127.0.0.1, or start the server with --allow-host NAME", request.path);
  }
  const auto origin = request.header("Origin");
  if (origin && (request.header_count("Origin") != 1 || !origin_allowed(policy, *origin))) {
    return problem(403, "requests of the web page '" + quote_input(*origin, 80) + "' are refused",
                   "if you trust that page, start the server with --allow-host and its host name", request.path);
  }
  return check_token(policy, request);
}

}  // namespace fx::server
