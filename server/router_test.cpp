#include "server/router.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/catalogue_testing.h"

namespace fx::server {
namespace {

class RouterTest : public testing::Test {
 protected:
  HttpResponse send(const std::string& method, const std::string& path, const std::string& body = "",
                    HttpHeaders headers = {}) {
    headers.emplace_back("Host", "localhost:8765");
    const HttpRequest request{method, path, std::move(headers), body};
    const auto refusal = router_.gate(request);
    return refusal ? *refusal : router_.handle(request);
  }
  HttpResponse post_mcp(const Json& message, HttpHeaders headers = {}) {
    return send("POST", "/mcp", to_text(message), std::move(headers));
  }
  std::string open_session() {
    const auto response = post_mcp({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "initialize"}});
    for (const auto& [name, value] : response.headers) {
      if (name == "Mcp-Session-Id") return value;
    }
    return {};
  }
  static Json modern(const std::string& method, Json params = Json::object()) {
    params["_meta"] = {{std::string(kRevisionKey), kModernRevision},
                       {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
    return {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}};
  }
  static HttpHeaders modern_headers(const std::string& method) {
    return {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", method}};
  }
  static int code_of(const HttpResponse& response) { return Json::parse(response.body)["error"]["code"].get<int>(); }

  std::vector<tools::Tool> catalogue_ = testing_catalogue();
  Services services_{testing::TempDir() + "fx_services"};
  Router router_{catalogue_, services_, {}};
};

const Json kList = {{"jsonrpc", "2.0"}, {"id", 2}, {"method", "tools/list"}};

TEST_F(RouterTest, AnswersAToolOverRest) {
  const auto response =
      send("POST", "/v1/tools/echo", R"({"text":"x"})", {{"Content-Type", "application/json; charset=utf-8"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"text":"x"})");
}

TEST_F(RouterTest, ExplainsWhatIsWrongAsAProblem) {
  const auto response = send("POST", "/v1/tools/refuse", "{}");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, "application/problem+json");
  const Json problem = Json::parse(response.body);
  EXPECT_EQ(problem["code"], "invalid_argument");
  EXPECT_EQ(problem["field"], "a.b");
  EXPECT_EQ(problem["hint"], "write 3");
  EXPECT_EQ(problem["errors"].size(), 2u);
  EXPECT_EQ(problem["status"], 400);
}

TEST_F(RouterTest, MapsErrorsToStatuses) {
  EXPECT_EQ(send("POST", "/v1/tools/missing", "{}").status, 404);
  EXPECT_EQ(send("POST", "/v1/tools/broken", "{}").status, 500);
  EXPECT_EQ(send("POST", "/v1/tools/nothing", "{}").status, 404);
  EXPECT_EQ(send("POST", "/v1/tools/echo", "{").status, 400);
  EXPECT_EQ(send("POST", "/v1/tools/echo", "[]").status, 400);
  EXPECT_EQ(send("POST", "/v1/tools/echo", std::string(70, '[') + std::string(70, ']')).status, 400);
  EXPECT_EQ(send("POST", "/v1/tools/echo", "{}", {{"Content-Type", "text/plain"}}).status, 415);
}

TEST_F(RouterTest, KnowsItsPathsAndMethods) {
  EXPECT_EQ(send("GET", "/nothing").status, 404);
  EXPECT_EQ(send("POST", "/v1/tools/echo/more", "{}").status, 404);
  EXPECT_EQ(send("POST", "/v1/tools/", "{}").status, 404);
  const auto response = send("PUT", "/v1/tools/echo", "{}");
  EXPECT_EQ(response.status, 405);
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0], (std::pair<std::string, std::string>("Allow", "POST")));
  for (const char* path : {"/healthz", "/readyz", "/openapi.json", "/v1/tools", "/"}) {
    EXPECT_EQ(send("GET", path).status, 200) << path;
  }
}

TEST_F(RouterTest, DescribesEveryToolInOpenApi) {
  const Json document = Json::parse(send("GET", "/openapi.json").body);
  EXPECT_EQ(document["openapi"], "3.1.0");
  for (const auto& tool : catalogue_) EXPECT_TRUE(document["paths"].contains("/v1/tools/" + tool.name)) << tool.name;
}

TEST_F(RouterTest, ServesASessionOfTheHandshakeEra) {
  const std::string id = open_session();
  ASSERT_FALSE(id.empty());
  EXPECT_EQ(post_mcp(kList, {{"Mcp-Session-Id", id}}).status, 200);
  EXPECT_EQ(post_mcp({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}, {{"Mcp-Session-Id", id}}).status,
            202);
  EXPECT_EQ(send("DELETE", "/mcp", "", {{"Mcp-Session-Id", id}}).status, 204);
  EXPECT_EQ(post_mcp(kList, {{"Mcp-Session-Id", id}}).status, 404);
}

TEST_F(RouterTest, NeedsAKnownSession) {
  EXPECT_EQ(post_mcp(kList).status, 400);
  EXPECT_EQ(post_mcp(kList, {{"Mcp-Session-Id", "made-up"}}).status, 404);
  EXPECT_EQ(send("DELETE", "/mcp").status, 400);
  EXPECT_EQ(send("GET", "/mcp").status, 405);
}

TEST_F(RouterTest, RefusesAnUnknownRevisionInTheHeader) {
  EXPECT_EQ(post_mcp(kList, {{"Mcp-Session-Id", open_session()}, {"MCP-Protocol-Version", "1999-01-01"}}).status, 400);
}

TEST_F(RouterTest, AnswersABatchOfRevision20250326) {
  const Json batch = {kList, {{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}, 7};
  const auto response = post_mcp(batch, {{"Mcp-Session-Id", open_session()}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Json::parse(response.body).size(), 2u);
}

TEST_F(RouterTest, ServesTheModernEraWithoutASession) {
  EXPECT_EQ(post_mcp(modern("server/discover"), modern_headers("server/discover")).status, 200);
  auto headers = modern_headers("tools/call");
  headers.emplace_back("Mcp-Name", "=?base64?ZWNobw==?=");
  EXPECT_EQ(post_mcp(modern("tools/call", {{"name", "echo"}}), headers).status, 200);
}

TEST_F(RouterTest, OffersOneToolForAllAtTheLeanPath) {
  const auto response = send("POST", "/mcp/lean", to_text(modern("tools/list")), modern_headers("tools/list"));
  EXPECT_EQ(response.status, 200);
  const Json tools = Json::parse(response.body)["result"]["tools"];
  ASSERT_EQ(tools.size(), 1u);
  EXPECT_EQ(tools[0]["name"], "fsdp");
  EXPECT_EQ(send("POST", "/mcp/other").status, 404);
}

TEST_F(RouterTest, RefusesModernHeadersThatSayOtherThanTheBody) {
  const Json call = modern("tools/call", {{"name", "echo"}});
  EXPECT_EQ(code_of(post_mcp(call)), kHeaderMismatch);
  EXPECT_EQ(code_of(post_mcp(call, modern_headers("tools/list"))), kHeaderMismatch);
  EXPECT_EQ(code_of(post_mcp(call, modern_headers("tools/call"))), kHeaderMismatch);
  for (const char* name : {"Echo", "=?base64?ZWNobw=?=", "=?base64?!!!!?="}) {
    auto headers = modern_headers("tools/call");
    headers.emplace_back("Mcp-Name", name);
    const auto response = post_mcp(call, headers);
    EXPECT_EQ(response.status, 400) << name;
    EXPECT_EQ(code_of(response), kHeaderMismatch) << name;
  }
}

TEST_F(RouterTest, GivesModernErrorsTheirStatus) {
  EXPECT_EQ(post_mcp(modern("ping"), modern_headers("ping")).status, 404);
  const auto bare = post_mcp(kList, modern_headers("tools/list"));
  EXPECT_EQ(bare.status, 400);
  EXPECT_EQ(code_of(bare), kInvalidParams);
}

TEST_F(RouterTest, RefusesWhatIsNoMessage) {
  EXPECT_EQ(code_of(send("POST", "/mcp", "{{")), kParseError);
  EXPECT_EQ(code_of(send("POST", "/mcp", "{}")), kInvalidRequest);
  EXPECT_EQ(send("POST", "/mcp", "{}", {{"Content-Type", "text/plain"}}).status, 415);
}

}  // namespace
}  // namespace fx::server
