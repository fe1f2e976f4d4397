#include "server/mcp_http.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "server/base64.h"

namespace fx::server {
namespace {

constexpr std::size_t kMaxBatch = 100;
constexpr const char* kSessionHeader = "Mcp-Session-Id";
constexpr const char* kVersionHeader = "MCP-Protocol-Version";

HttpResponse json(int status, std::string body) {
  return {status, std::move(body), "application/json", {}};
}

HttpResponse refuse(std::string_view id, const RpcError& error) {
  return json(error.http_status, rpc_error(id, error));
}

HttpResponse answer(const Mcp& mcp, const RpcMessage& message, bool modern) {
  const McpAnswer result = mcp.answer(message);
  if (const auto* error = std::get_if<RpcError>(&result)) {
    // The handshake revisions carry a request's errors under status 200.
    return json(modern ? error->http_status : 200, rpc_error(message.id, *error));
  }
  return json(200, rpc_result(message.id, std::get<std::string>(result)));
}

std::optional<RpcError> mismatch(const HttpRequest& request, const char* name, const std::string& wanted,
                                 bool encoded) {
  const auto value = request.header(name);
  const std::string label = std::string("Header mismatch: ") + name;
  if (!value) return RpcError{kHeaderMismatch, label + " is missing", {}, 400};
  if (request.header_count(name) != 1) return RpcError{kHeaderMismatch, label + " is given twice", {}, 400};
  const auto text = encoded ? header_text(*value) : std::optional<std::string>(trim(*value));
  if (!text) return RpcError{kHeaderMismatch, label + " is not valid base64", {}, 400};
  if (*text == wanted) return std::nullopt;
  return RpcError{kHeaderMismatch,
                  label + " says '" + quote_input(*text, 60) + "', the body '" + quote_input(wanted, 60) + "'",
                  {},
                  400};
}

// What the modern era mirrors into headers must say the same as the body.
std::optional<RpcError> check_headers(const HttpRequest& request, const RpcMessage& message) {
  if (auto error = mismatch(request, kVersionHeader, declared_revision(message), false)) return error;
  if (auto error = mismatch(request, "Mcp-Method", message.method, false)) return error;
  if (message.method != "tools/call" && message.method != "prompts/get" && message.method != "resources/read") {
    return std::nullopt;
  }
  const char* key = message.method == "resources/read" ? "uri" : "name";
  const auto name = message.params->find(key);
  if (name == message.params->end() || !name->is_string()) return std::nullopt;  // the method says what is wrong
  return mismatch(request, "Mcp-Name", name->get<std::string>(), true);
}

bool opens_modern(const HttpRequest& request, const RpcMessage& message) {
  if (is_modern(message)) return true;
  return trim(request.header(kVersionHeader).value_or("")) == kModernRevision;
}

HttpResponse post_modern(const Mcp& mcp, const HttpRequest& request, const RpcMessage& message) {
  if (message.kind == RpcKind::kResponse) {
    return refuse(
        "", {kInvalidRequest, "responses are not accepted: this revision has no requests by the server", {}, 400});
  }
  if (message.kind == RpcKind::kNotification) return {202, {}, {}, {}};
  if (declared_revision(message).empty()) {
    return refuse(message.id, {kInvalidParams, "params._meta lacks " + std::string(kRevisionKey), {}, 400});
  }
  if (auto error = check_headers(request, message)) return refuse(message.id, *error);
  return answer(mcp, message, true);
}

}  // namespace

std::optional<std::string> header_text(std::string_view value) {
  constexpr std::string_view kOpen = "=?base64?", kClose = "?=";
  value = trim(value);
  if (value.size() < kOpen.size() + kClose.size() || !value.starts_with(kOpen) || !value.ends_with(kClose)) {
    return std::string(value);
  }
  return decode_base64(value.substr(kOpen.size(), value.size() - kOpen.size() - kClose.size()));
}

HttpResponse McpHttp::handle(const HttpRequest& request) {
  if (request.method == "POST") return post(request);
  if (auto refusal = check_session(request, "")) return *refusal;  // DELETE
  sessions_.close(*request.header(kSessionHeader));
  return {204, {}, {}, {}};
}

HttpResponse McpHttp::post(const HttpRequest& request) {
  const auto document = parse_json(request.body);
  if (!document) {
    const bool too_large = document.error().code == ErrorCode::kTooLarge;
    return refuse("", {kParseError, to_line(document.error()), {}, too_large ? 413 : 400});
  }
  if (document->is_array()) return post_batch(request, *document);
  const auto message = read_message(*document);
  if (!message) return refuse("", {kInvalidRequest, to_line(message.error()), {}, 400});
  return opens_modern(request, *message) ? post_modern(mcp_, request, *message) : post_legacy(request, *message);
}

std::optional<HttpResponse> McpHttp::check_session(const HttpRequest& request, std::string_view id) const {
  const auto version = request.header(kVersionHeader);
  if (version && !is_legacy_revision(trim(*version))) {
    return refuse(id,
                  {kInvalidRequest, "unsupported MCP-Protocol-Version '" + quote_input(*version, 40) + "'", {}, 400});
  }
  const auto session = request.header(kSessionHeader);
  if (!session)
    return refuse(id, {kInvalidRequest, "the Mcp-Session-Id header is missing: send initialize first", {}, 400});
  if (!sessions_.known(*session)) {
    return refuse(id, {kInvalidRequest, "this session has ended: send initialize again", {}, 404});
  }
  return std::nullopt;
}

HttpResponse McpHttp::post_legacy(const HttpRequest& request, const RpcMessage& message) {
  if (message.kind == RpcKind::kRequest && message.method == "initialize") {
    HttpResponse response = answer(mcp_, message, false);
    response.headers.emplace_back(kSessionHeader, sessions_.open());
    return response;
  }
  if (auto refusal = check_session(request, message.id)) return *refusal;
  if (message.kind != RpcKind::kRequest) return {202, {}, {}, {}};
  return answer(mcp_, message, false);
}

HttpResponse McpHttp::post_batch(const HttpRequest& request, const Json& batch) {
  if (auto refusal = check_session(request, "")) return *refusal;
  if (batch.empty() || batch.size() > kMaxBatch) {
    return refuse("", {kInvalidRequest, "a batch holds 1 to " + std::to_string(kMaxBatch) + " messages", {}, 400});
  }
  std::string answers;
  for (const auto& item : batch) {
    const auto message = read_message(item);
    if (message && message->kind != RpcKind::kRequest) continue;
    if (!answers.empty()) answers += ',';
    answers += message ? mcp_.respond(*message) : rpc_error("", {kInvalidRequest, to_line(message.error()), {}, 400});
  }
  return answers.empty() ? HttpResponse{202, {}, {}, {}} : json(200, "[" + answers + "]");
}

}  // namespace fx::server
