// JSON-RPC 2.0 messages as MCP uses them.
#pragma once

#include <string>
#include <string_view>

#include "spec/json.h"

namespace fx::server {

enum class RpcKind { kRequest, kNotification, kResponse };

// Points into the parsed document, which must outlive it.
struct RpcMessage {
  RpcKind kind = RpcKind::kRequest;
  std::string id;  // as JSON text; empty for a notification
  std::string method;
  const Json* params = nullptr;  // an object, or nullptr when absent
};

// A protocol error and the HTTP status that goes with it.
struct RpcError {
  int code = -32603;
  std::string message;
  std::string data;  // JSON text; empty: none
  int http_status = 400;
};

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kUnsupportedVersion = -32022;

// Errors: what makes the document no valid message (kInvalidArgument).
Result<RpcMessage> read_message(const Json& document);

// Compact JSON texts without a line end. result: JSON text. An empty id is left out.
std::string rpc_result(std::string_view id, std::string_view result);
std::string rpc_error(std::string_view id, const RpcError& error);

}  // namespace fx::server
