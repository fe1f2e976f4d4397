#include "server/json_rpc.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fx::server {
namespace {

RpcKind kind_of(const char* text) {
  return read_message(Json::parse(text)).value().kind;
}

TEST(JsonRpc, TellsRequestsNotificationsAndResponsesApart) {
  EXPECT_EQ(kind_of(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"), RpcKind::kRequest);
  EXPECT_EQ(kind_of(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), RpcKind::kNotification);
  EXPECT_EQ(kind_of(R"({"jsonrpc":"2.0","id":"a","result":{}})"), RpcKind::kResponse);
}

TEST(JsonRpc, RefusesMalformedMessages) {
  for (const char* text :
       {"1", "[]", "{}", R"({"id":1,"method":"ping"})", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":null,"method":"ping"})", R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1,"method":7})", R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})",
        R"({"jsonrpc":"2.0","id":1})"}) {
    EXPECT_FALSE(read_message(Json::parse(text))) << text;
  }
}

TEST(JsonRpc, KeepsTheIdAsItWasGiven) {
  const Json document = Json::parse(R"({"jsonrpc":"2.0","id":"a\"b","method":"ping"})");
  const auto message = read_message(document);
  ASSERT_TRUE(message);
  EXPECT_EQ(rpc_result(message->id, "{}"), R"({"jsonrpc":"2.0","id":"a\"b","result":{}})");
}

TEST(JsonRpc, LeavesAnUnknownIdOut) {
  EXPECT_EQ(rpc_error("", {kParseError, "no", {}, 400}), R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}})");
  EXPECT_EQ(rpc_error("1", {-1, "no", "[2]", 400}),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[2]}})");
}

}  // namespace
}  // namespace fx::server
