#include "server/commands/serve.h"

#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "server/commands/call.h"
#include "server/router.h"
#include "server/version.h"

namespace fx::server {
namespace {

Result<std::string> read_token(const std::string& file) {
  if (file.empty()) {
    const char* value = std::getenv("FSDP_EXPERT_TOKEN");
    return std::string(value == nullptr ? "" : value);
  }
  auto text = read_file(file, 4096);
  if (!text) return text.error();
  const std::string token(trim(*text));
  if (token.size() < 16)
    return invalid_argument(file, "the token is shorter than 16 characters", "make a long random one");
  return token;
}

Result<AccessPolicy> make_policy(const ServeOptions& options) {
  auto token = read_token(options.token_file);
  if (!token) return token.error();
  if (!is_loopback(options.host) && token->empty()) {
    return invalid_argument("--host", options.host + " can be reached from other machines, and no token is set",
                            "keep 127.0.0.1, or give --token-file FILE");
  }
  AccessPolicy policy{{to_lower(options.host)}, *token};
  for (const auto& host : options.allow_hosts) policy.hosts.push_back(to_lower(host));
  return policy;
}

std::string url_of(const ServeOptions& options, int port) {
  const bool v6 = contains(options.host, ":") && !options.host.starts_with('[');
  return "http://" + (v6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(port);
}

// SIGTERM and SIGINT, taken by one thread in turn instead of interrupting any.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  void wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_;
};

}  // namespace

int serve_command(const std::vector<tools::Tool>& catalogue, Services& services, const ServeOptions& options) {
  const StopSignals signals;
  auto policy = make_policy(options);
  if (!policy) return report(policy.error());
  Router router(catalogue, services, *policy);
  HttpOptions http;
  http.host = options.host;
  http.port = options.port;
  auto server = HttpServer::listen(http, router.service());
  if (!server) return report(server.error());
  std::printf("%s %s is ready at %s (tools: /v1/tools, MCP: /mcp, data: %s)\n", kProgram, kVersion,
              url_of(options, (*server)->port()).c_str(), services.data_folder().c_str());
  std::fflush(stdout);
  std::thread stopper([&] {
    signals.wait();
    (*server)->stop();
  });
  (*server)->run();
  pthread_kill(stopper.native_handle(), SIGTERM);  // if it still waits: the server ended by itself
  stopper.join();
  return 0;
}

}  // namespace fx::server
