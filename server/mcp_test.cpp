#include "server/mcp.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/catalogue_testing.h"
#include "server/services.h"

namespace fx::server {
namespace {

class McpTest : public testing::Test {
 protected:
  Json ask(const std::string& method, Json params) {
    const Json document = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}};
    return Json::parse(mcp_.respond(read_message(document).value()));
  }
  Json ask_modern(const std::string& method, Json params = Json::object()) {
    params["_meta"] = {{std::string(kRevisionKey), kModernRevision},
                       {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
    return ask(method, std::move(params));
  }

  std::vector<tools::Tool> catalogue_ = testing_catalogue();
  Services services_{testing::TempDir() + "fx_services"};
  Mcp mcp_{catalogue_, services_.context()};
};

TEST_F(McpTest, AgreesOnTheClientsRevision) {
  for (const char* revision : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    EXPECT_EQ(ask("initialize", {{"protocolVersion", revision}})["result"]["protocolVersion"], revision);
  }
  EXPECT_EQ(ask("initialize", {{"protocolVersion", "1999-01-01"}})["result"]["protocolVersion"], "2025-11-25");
  EXPECT_EQ(ask("initialize", {{"protocolVersion", 7}})["result"]["protocolVersion"], "2025-11-25");
}

TEST_F(McpTest, ListsToolsInCatalogueOrderEveryTime) {
  const Json first = ask("tools/list", Json::object());
  EXPECT_EQ(first, ask("tools/list", Json::object()));
  ASSERT_EQ(first["result"]["tools"].size(), catalogue_.size());
  for (std::size_t i = 0; i < catalogue_.size(); ++i)
    EXPECT_EQ(first["result"]["tools"][i]["name"], catalogue_[i].name);
  EXPECT_EQ(first["result"]["tools"][0]["annotations"]["readOnlyHint"], true);
  EXPECT_EQ(first["result"]["tools"][1]["annotations"]["readOnlyHint"], false);
}

TEST_F(McpTest, RefusesACursorItNeverGave) {
  EXPECT_EQ(ask("tools/list", {{"cursor", "x"}})["error"]["code"], kInvalidParams);
}

TEST_F(McpTest, AnswersAToolCallInTextAlone) {
  const Json result = ask("tools/call", {{"name", "echo"}, {"arguments", {{"text", "a\nb"}}}})["result"];
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result["content"][0]["text"], R"({"text":"a\nb"})");
  EXPECT_FALSE(result.contains("structuredContent"));
}

TEST_F(McpTest, TakesMissingArgumentsAsNone) {
  EXPECT_EQ(ask("tools/call", {{"name", "echo"}})["result"]["content"][0]["text"], "{}");
}

TEST_F(McpTest, MarksBadArgumentsAndOwnFaultsAsErrors) {
  const Json refused = ask("tools/call", {{"name", "refuse"}})["result"];
  EXPECT_EQ(refused["isError"], true);
  const Json error = Json::parse(refused["content"][0]["text"].get<std::string>())["error"];
  EXPECT_EQ(error["field"], "a.b");
  EXPECT_EQ(error["details"].size(), 2u);
  EXPECT_EQ(ask("tools/call", {{"name", "broken"}})["result"]["isError"], true);
  EXPECT_EQ(ask("tools/call", {{"name", "echo"}, {"arguments", {1, 2}}})["result"]["isError"], true);
}

TEST_F(McpTest, KeepsOrdinaryNoAnswersOutOfTheErrorCount) {
  const Json result = ask("tools/call", {{"name", "missing"}})["result"];
  EXPECT_EQ(result["isError"], false);
  EXPECT_NE(result["content"][0]["text"].get<std::string>().find("not_found"), std::string::npos);
}

TEST_F(McpTest, RefusesUnknownToolsAndMethods) {
  EXPECT_EQ(ask("tools/call", {{"name", "nothing"}})["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask("tools/call", {{"name", 3}})["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask("resources/list", Json::object())["error"]["code"], kMethodNotFound);
}

TEST_F(McpTest, DiscoversInTheModernEra) {
  const Json result = ask_modern("server/discover")["result"];
  EXPECT_EQ(result["supportedVersions"][0], "2026-07-28");
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fsdp-expert");
}

TEST_F(McpTest, ServesToolsInTheModernEra) {
  const Json list = ask_modern("tools/list")["result"];
  EXPECT_EQ(list["tools"].size(), catalogue_.size());
  EXPECT_EQ(list["resultType"], "complete");
  EXPECT_GE(list["ttlMs"], 0);
  EXPECT_EQ(list["cacheScope"], "public");
  EXPECT_EQ(ask_modern("tools/call", {{"name", "echo"}})["result"]["resultType"], "complete");
}

TEST_F(McpTest, RemovedMethodsAreUnknownInTheModernEra) {
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe"}) {
    EXPECT_EQ(ask_modern(method)["error"]["code"], kMethodNotFound) << method;
  }
}

TEST_F(McpTest, NamesItsRevisionsToAClientOfAnother) {
  const Json error = ask("tools/list", {{"_meta", {{std::string(kRevisionKey), "1900-01-01"}}}})["error"];
  EXPECT_EQ(error["code"], kUnsupportedVersion);
  EXPECT_EQ(error["data"]["requested"], "1900-01-01");
  EXPECT_EQ(error["data"]["supported"][0], "2026-07-28");
}

TEST_F(McpTest, NeedsTheModernMetadata) {
  EXPECT_EQ(ask("server/discover", Json::object())["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask("tools/list", {{"_meta", {{std::string(kRevisionKey), kModernRevision}}}})["error"]["code"],
            kInvalidParams);
}

}  // namespace
}  // namespace fx::server
