// Who may talk to us: Host and Origin of a local server, and a bearer token where one is set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/http.h"

namespace fx::server {

struct AccessPolicy {
  std::vector<std::string> hosts;  // besides the loopback names; without port, lower case
  std::string token;               // empty: none needed
};

bool is_loopback(std::string_view host);  // "localhost", "127.x.y.z", "::1", "[::1]"

// The refusal, or nullopt when the request may go on. Looks at headers only.
std::optional<HttpResponse> check_access(const AccessPolicy& policy, const HttpRequest& request);

}  // namespace fx::server
