// MCP over Streamable HTTP, both eras on one path. Every answer is a single JSON object: no tool of ours streams.
#pragma once

#include "server/http.h"
#include "server/mcp.h"
#include "server/mcp_sessions.h"

namespace fx::server {

// Safe to use from several threads.
class McpHttp {
 public:
  explicit McpHttp(const Mcp& mcp) : mcp_(mcp) {}
  // POST: one message (or a batch, as revision 2025-03-26 had it). DELETE: ends a session.
  HttpResponse handle(const HttpRequest& request);

 private:
  HttpResponse post(const HttpRequest& request);
  HttpResponse post_legacy(const HttpRequest& request, const RpcMessage& message);
  HttpResponse post_batch(const HttpRequest& request, const Json& batch);
  std::optional<HttpResponse> check_session(const HttpRequest& request, std::string_view id) const;

  const Mcp& mcp_;
  McpSessions sessions_;
};

// The value as the client meant it: trimmed, and decoded when it is "=?base64?...?=". nullopt: malformed.
std::optional<std::string> header_text(std::string_view value);

}  // namespace fx::server
