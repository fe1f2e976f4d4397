#include "server/http.h"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/text.h"

namespace fx::server {
namespace {

HttpRequest to_plain(const httplib::Request& request) {
  HttpRequest plain{request.method, request.path, {}, request.body};
  for (const auto& [name, value] : request.headers) plain.headers.emplace_back(name, value);
  return plain;
}

void fill(httplib::Response& response, const HttpResponse& answer) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  if (!answer.body.empty()) response.set_content(answer.body, answer.content_type);
}

// The library would also share the port with other processes (SO_REUSEPORT), hiding that it is taken.
void set_socket_options(socket_t socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

Error bind_error(const HttpOptions& options, int code) {
  const std::string place = options.host + ", port " + std::to_string(options.port);
  if (code == EADDRINUSE) {
    return unavailable("cannot listen on " + place + ": the port is in use",
                       "stop the program that uses it, or choose another with --port (0 picks a free one)");
  }
  const std::string why = code != 0 ? std::strerror(code) : "the address cannot be used on this machine";
  return unavailable("cannot listen on " + place + ": " + why, "choose another --host or --port");
}

class Listener final : public HttpServer {
 public:
  Listener(const HttpOptions& options, HttpService service) : service_(std::move(service)) {
    server_.set_socket_options(set_socket_options);
    server_.set_payload_max_length(options.max_body);
    server_.set_read_timeout(options.read_timeout_s);
    server_.set_write_timeout(options.write_timeout_s);
    server_.set_tcp_nodelay(true);
    server_.new_task_queue = [options] {
      return new httplib::ThreadPool(options.threads, options.max_threads, options.max_queued);
    };
    add_handlers();
  }

  Result<void> bind(const HttpOptions& options) {
    errno = 0;
    port_ = options.port;
    const bool bound = options.port == 0 ? (port_ = server_.bind_to_any_port(options.host)) > 0
                                         : server_.bind_to_port(options.host, options.port);
    if (!bound) return bind_error(options, errno);
    return {};
  }

  int port() const override { return port_; }
  void run() override { server_.listen_after_bind(); }
  void stop() override { server_.stop(); }

 private:
  using Handled = httplib::Server::HandlerResponse;

  void add_handlers() {
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const auto answer = service_.gate(to_plain(request));
      if (!answer) return Handled::Unhandled;
      fill(response, *answer);
      // Its body stays unread, so the connection cannot carry another request.
      if (request.has_header("Content-Length") || request.has_header("Transfer-Encoding")) {
        response.set_header("Connection", "close");
      }
      return Handled::Handled;
    });
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      fill(response, service_.handle(to_plain(request)));
    };
    for (const auto& path : service_.paths) {
      server_.Get(path, handle).Post(path, handle).Delete(path, handle);
    }
    server_.set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;  // one of our own answers
      fill(response, service_.refuse(response.status, to_plain(request)));
    });
    server_.set_exception_handler(
        [this](const httplib::Request& request, httplib::Response& response, const std::exception_ptr&) {
          fill(response, service_.refuse(500, to_plain(request)));
        });
  }

  HttpService service_;
  httplib::Server server_;
  int port_ = 0;
};

}  // namespace

std::optional<std::string> HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (to_lower(key) == to_lower(name)) return value;
  }
  return std::nullopt;
}

std::size_t HttpRequest::header_count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      headers.begin(), headers.end(), [&](const auto& header) { return to_lower(header.first) == to_lower(name); }));
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpOptions& options, HttpService service) {
  auto listener = std::make_unique<Listener>(options, std::move(service));
  const auto bound = listener->bind(options);
  if (!bound) return bound.error();
  return std::unique_ptr<HttpServer>(std::move(listener));
}

}  // namespace fx::server
