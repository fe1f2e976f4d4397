#include "server/json_rpc.h"

#include <nlohmann/json.hpp>

namespace fx::server {
namespace {

std::string opening(std::string_view id) {
  std::string text = R"({"jsonrpc":"2.0")";
  if (!id.empty()) {
    text += R"(,"id":)";
    text += id;
  }
  return text;
}

}  // namespace

Result<RpcMessage> read_message(const Json& document) {
  if (!document.is_object()) return invalid_argument("", "a message must be a JSON object");
  const auto version = document.find("jsonrpc");
  if (version == document.end() || *version != "2.0") return invalid_argument("jsonrpc", "must be \"2.0\"");
  RpcMessage message;
  if (const auto id = document.find("id"); id != document.end()) {
    if (!id->is_string() && !id->is_number_integer()) return invalid_argument("id", "must be a string or an integer");
    message.id = to_text(*id);
  }
  const auto method = document.find("method");
  if (method == document.end()) {
    if (!document.contains("result") && !document.contains("error")) return invalid_argument("method", "is missing");
    message.kind = RpcKind::kResponse;
    return message;
  }
  if (!method->is_string()) return invalid_argument("method", "must be a string");
  message.method = method->get<std::string>();
  message.kind = message.id.empty() ? RpcKind::kNotification : RpcKind::kRequest;
  if (const auto params = document.find("params"); params != document.end()) {
    if (!params->is_object()) return invalid_argument("params", "must be an object");
    message.params = &*params;
  }
  return message;
}

std::string rpc_result(std::string_view id, std::string_view result) {
  return opening(id) + R"(,"result":)" + std::string(result) + "}";
}

std::string rpc_error(std::string_view id, const RpcError& error) {
  Json body = {{"code", error.code}, {"message", error.message}};
  std::string text = to_text(body);
  if (!error.data.empty()) text.insert(text.size() - 1, R"(,"data":)" + error.data);
  return opening(id) + R"(,"error":)" + text + "}";
}

}  // namespace fx::server
