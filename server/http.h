// HTTP as the rest of the server sees it: plain requests in, plain responses out. http.cpp is the only file that knows
// the library.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fx::server {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // "GET", "POST", ...
  std::string path;    // decoded, without the query
  HttpHeaders headers;
  std::string body;

  // Names are compared ignoring case. The first value, or nullopt.
  std::optional<std::string> header(std::string_view name) const;
  std::size_t header_count(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";  // ignored when the body is empty
  HttpHeaders headers;
};

// What the server serves. All three are called from several threads at once; an exception becomes refuse(500, ...).
struct HttpService {
  std::vector<std::string> paths;  // literal; a last segment ":name" stands for any one segment
  // Before the body is read: a response here is the answer.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> gate;
  std::function<HttpResponse(const HttpRequest&)> handle;
  // The answer for what the transport itself turns down: 400, 413, 414, 415, ...
  std::function<HttpResponse(int status, const HttpRequest&)> refuse;
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8765;  // 0: any free one
  std::size_t max_body = std::size_t{4} << 20;
  int read_timeout_s = 10, write_timeout_s = 10;
  std::size_t threads = 4, max_threads = 64, max_queued = 256;
};

// A listening socket. Bound in listen(), serves while run() runs.
class HttpServer {
 public:
  // Errors: kUnavailable when the port is taken or the host is not ours.
  static Result<std::unique_ptr<HttpServer>> listen(const HttpOptions& options, HttpService service);
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  virtual void run() = 0;   // until stop()
  virtual void stop() = 0;  // from any thread; answers that are being made are still sent
};

}  // namespace fx::server
