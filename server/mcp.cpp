#include "server/mcp.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "server/tool_list.h"
#include "server/version.h"
#include "tools/catalogue.h"

namespace fx::server {
namespace {

constexpr std::array<std::string_view, 4> kLegacyRevisions = {kNewestLegacyRevision, "2025-06-18", "2025-03-26",
                                                              "2024-11-05"};
// The tools change only with the program, so clients may keep the list for an hour.
constexpr int kListTtlMs = 3600 * 1000;

Json server_info() {
  return {{"name", kProgram}, {"title", "FSDP expert"}, {"version", kVersion}};
}

const Json* member(const Json* object, std::string_view key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

const Json* meta_of(const RpcMessage& message) {
  return member(message.params, "_meta");
}

std::string text_of(const Json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::string initialize(const RpcMessage& request) {
  const std::string wanted = text_of(member(request.params, "protocolVersion"));
  const std::string_view revision = is_legacy_revision(wanted) ? std::string_view(wanted) : kNewestLegacyRevision;
  return to_text({{"protocolVersion", revision},
                  {"capabilities", {{"tools", {{"listChanged", false}}}}},
                  {"serverInfo", server_info()}});
}

std::string discover() {
  Json versions = {kModernRevision};
  for (const auto revision : kLegacyRevisions) versions.push_back(revision);
  return to_text({{"resultType", "complete"},
                  {"supportedVersions", std::move(versions)},
                  {"capabilities", {{"tools", Json::object()}}},
                  {"ttlMs", kListTtlMs},
                  {"cacheScope", "public"},
                  {"_meta", {{"io.modelcontextprotocol/serverInfo", server_info()}}}});
}

RpcError unknown_method(const RpcMessage& request) {
  return {kMethodNotFound, "there is no method '" + quote_input(request.method, 60) + "' here", {}, 404};
}

// The metadata every modern request must carry.
std::optional<RpcError> check_metadata(const RpcMessage& request) {
  const Json* meta = meta_of(request);
  if (meta == nullptr || !meta->is_object()) {
    return RpcError{kInvalidParams,
                    "params._meta is missing: it must carry the protocol version and the client's capabilities",
                    {},
                    400};
  }
  const std::string revision = declared_revision(request);
  if (revision.empty()) {
    return RpcError{kInvalidParams, "params._meta lacks " + std::string(kRevisionKey), {}, 400};
  }
  if (revision != kModernRevision) {
    Json supported = {kModernRevision};
    for (const auto legacy : kLegacyRevisions) supported.push_back(legacy);
    const Json data = {{"supported", std::move(supported)}, {"requested", quote_input(revision, 40)}};
    return RpcError{kUnsupportedVersion, "Unsupported protocol version", to_text(data), 400};
  }
  const Json* capabilities = member(meta, "io.modelcontextprotocol/clientCapabilities");
  if (capabilities == nullptr || !capabilities->is_object()) {
    return RpcError{
        kInvalidParams, "params._meta lacks io.modelcontextprotocol/clientCapabilities (an object)", {}, 400};
  }
  return std::nullopt;
}

std::optional<RpcError> check_cursor(const RpcMessage& request) {
  const Json* cursor = member(request.params, "cursor");
  if (cursor == nullptr || cursor->is_null()) return std::nullopt;
  return RpcError{kInvalidParams, "unknown cursor: the list has one page", {}, 400};
}

// Clients count isError results as faults of ours and may block the server after a few, so only unusable arguments and
// our own mistakes are marked; the text says all in either case.
bool is_fault(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kTooLarge || code == ErrorCode::kInternal;
}

}  // namespace

bool is_legacy_revision(std::string_view revision) {
  return std::find(kLegacyRevisions.begin(), kLegacyRevisions.end(), revision) != kLegacyRevisions.end();
}

std::string declared_revision(const RpcMessage& message) {
  return text_of(member(meta_of(message), kRevisionKey));
}

bool is_modern(const RpcMessage& message) {
  return message.method == "server/discover" || member(meta_of(message), kRevisionKey) != nullptr;
}

Mcp::Mcp(const std::vector<tools::Tool>& catalogue, tools::ToolContext& context)
    : catalogue_(catalogue), context_(context) {
  Json list = mcp_tools(catalogue);
  legacy_tools_ = to_text(list);
  list["resultType"] = "complete";
  list["ttlMs"] = kListTtlMs;
  list["cacheScope"] = "public";
  modern_tools_ = to_text(list);
}

McpAnswer Mcp::answer(const RpcMessage& request) const {
  return is_modern(request) ? modern(request) : legacy(request);
}

std::string Mcp::respond(const RpcMessage& request) const {
  const McpAnswer result = answer(request);
  if (const auto* error = std::get_if<RpcError>(&result)) return rpc_error(request.id, *error);
  return rpc_result(request.id, std::get<std::string>(result));
}

McpAnswer Mcp::legacy(const RpcMessage& request) const {
  if (request.method == "initialize") return initialize(request);
  if (request.method == "ping") return std::string("{}");
  if (request.method == "tools/call") return call_tool(request, false);
  if (request.method != "tools/list") return unknown_method(request);
  if (auto error = check_cursor(request)) return *error;
  return legacy_tools_;
}

McpAnswer Mcp::modern(const RpcMessage& request) const {
  if (auto error = check_metadata(request)) return *error;
  if (request.method == "server/discover") return discover();
  if (request.method == "tools/call") return call_tool(request, true);
  if (request.method != "tools/list") return unknown_method(request);
  if (auto error = check_cursor(request)) return *error;
  return modern_tools_;
}

McpAnswer Mcp::call_tool(const RpcMessage& request, bool modern) const {
  const Json* name = member(request.params, "name");
  if (name == nullptr || !name->is_string())
    return RpcError{kInvalidParams, "params.name must be a tool's name", {}, 400};
  const tools::Tool* tool = tools::find_tool(catalogue_, name->get<std::string>());
  if (tool == nullptr) {
    return RpcError{kInvalidParams, "Unknown tool: " + quote_input(name->get<std::string>(), 60), {}, 400};
  }
  const Json* given = member(request.params, "arguments");
  const auto result = tools::call_tool(*tool, given == nullptr || given->is_null() ? Json::object() : *given, context_);
  const Json body = result ? *result : Json{{"error", error_to_json(result.error())}};
  Json answer = {{"content", Json::array({{{"type", "text"}, {"text", to_text(body)}}})},
                 {"isError", !result && is_fault(result.error().code)}};
  if (modern) answer["resultType"] = "complete";
  return to_text(answer);
}

}  // namespace fx::server
