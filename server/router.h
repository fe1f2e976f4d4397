// One table of routes: which paths exist, with which methods, and who answers.
#pragma once

#include <vector>

#include "server/access.h"
#include "server/http.h"
#include "server/mcp_http.h"
#include "server/services.h"

namespace fx::server {

// Safe to use from several threads. What it is made from must outlive it.
class Router {
 public:
  Router(const std::vector<tools::Tool>& catalogue, Services& services, AccessPolicy policy);

  HttpService service();  // bound to this object

  // The three steps of a request, for tests without sockets.
  std::optional<HttpResponse> gate(const HttpRequest& request) const;  // access, path, method
  HttpResponse handle(const HttpRequest& request);

 private:
  HttpResponse ready(const HttpRequest& request);

  const std::vector<tools::Tool>& catalogue_;
  Services& services_;
  AccessPolicy policy_;
  std::vector<tools::Tool> lean_;  // the same behind one tool, at a path of its own
  Mcp mcp_, lean_mcp_;
  McpHttp mcp_http_, lean_mcp_http_;
};

}  // namespace fx::server
