// The Model Context Protocol without a transport. Two eras are spoken: the handshake revisions up to 2025-11-25
// (initialize), and 2026-07-28, where every request carries its revision in params._meta.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/json_rpc.h"
#include "tools/tool.h"

namespace fx::server {

inline constexpr std::string_view kModernRevision = "2026-07-28";
inline constexpr std::string_view kNewestLegacyRevision = "2025-11-25";
inline constexpr std::string_view kRevisionKey = "io.modelcontextprotocol/protocolVersion";

bool is_legacy_revision(std::string_view revision);  // one that we speak

// The revision in params._meta; empty when there is none or it is no text.
std::string declared_revision(const RpcMessage& message);
// True when the message carries the modern era's metadata, or asks for what only that era has.
bool is_modern(const RpcMessage& message);

using McpAnswer = std::variant<std::string, RpcError>;  // the result as JSON text, or an error

// Safe to use from several threads. The catalogue and the context must outlive it.
class Mcp {
 public:
  Mcp(const std::vector<tools::Tool>& catalogue, tools::ToolContext& context);

  // Answers one request of the era that it belongs to (is_modern). Notifications and responses need no answer.
  McpAnswer answer(const RpcMessage& request) const;
  // The whole response message.
  std::string respond(const RpcMessage& request) const;

 private:
  McpAnswer legacy(const RpcMessage& request) const;
  McpAnswer modern(const RpcMessage& request) const;
  McpAnswer call_tool(const RpcMessage& request, bool modern) const;

  const std::vector<tools::Tool>& catalogue_;
  tools::ToolContext& context_;
  std::string legacy_tools_, modern_tools_;  // results of tools/list: the same for everyone, in catalogue order
};

}  // namespace fx::server
