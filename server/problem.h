// Errors over HTTP: RFC 9457 problem details, from the one error table or from a bare HTTP status.
#pragma once

#include "server/http.h"

namespace fx::server {

HttpResponse problem(const Error& error, const std::string& path);
// For what HTTP knows and our table does not: 401, 405, 414, 415, 421, ...
HttpResponse problem(int status, const std::string& detail, const std::string& hint, const std::string& path);

}  // namespace fx::server
