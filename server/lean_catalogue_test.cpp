#include "server/lean_catalogue.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/catalogue_testing.h"
#include "server/services.h"
#include "server/tool_list.h"
#include "tools/catalogue.h"

namespace fx::server {
namespace {

class LeanCatalogue : public testing::Test {
 protected:
  Result<Json> call(const Json& arguments) { return tools::call_tool(lean_.front(), arguments, services_.context()); }

  std::vector<tools::Tool> catalogue_ = testing_catalogue();
  std::vector<tools::Tool> lean_ = lean_catalogue(catalogue_);
  Services services_{testing::TempDir() + "fx_services"};
};

TEST_F(LeanCatalogue, CallsTheToolThatOpNames) {
  EXPECT_EQ(call({{"op", "echo"}, {"args", {{"text", "a"}}}}).value(), (Json{{"text", "a"}}));
  EXPECT_EQ(call({{"op", "echo"}}).value(), Json::object());
  EXPECT_EQ(call({{"op", "echo"}, {"args", nullptr}}).value(), Json::object());
}

TEST_F(LeanCatalogue, GivesTheToolsOwnErrors) {
  EXPECT_EQ(call({{"op", "missing"}}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(call({{"op", "broken"}}).error().code, ErrorCode::kInternal);
}

TEST_F(LeanCatalogue, HelpListsEveryToolAndShowsOnesSchema) {
  const Json list = call({{"op", "help"}}).value();
  EXPECT_EQ(list["operations"].size(), catalogue_.size());
  EXPECT_EQ(call(Json::object()).value(), list);
  EXPECT_EQ(list["operations"]["echo"]["args"], "text?");
  const Json one = call({{"op", "help"}, {"args", {{"op", "echo"}}}}).value();
  EXPECT_EQ(one["args"], Json::parse(catalogue_.front().input_schema));
}

TEST_F(LeanCatalogue, SaysWhatIsWrongAndWhatThereIs) {
  EXPECT_EQ(call({{"op", 7}}).error().field, "op");
  EXPECT_EQ(call({{"op", "echo"}, {"args", "text"}}).error().field, "args");
  EXPECT_EQ(call({{"op", "help"}, {"args", {{"op", "nothing"}}}}).error().field, "args.op");
  const auto unknown = call({{"op", "fsdp\n"}}).error();
  EXPECT_EQ(unknown.message.find('\n'), std::string::npos);
  EXPECT_NE(unknown.hint.find("refuse"), std::string::npos);
}

TEST_F(LeanCatalogue, CostsAConversationNextToNothing) {
  const auto all = tools::make_catalogue();
  Json tool = mcp_tool(lean_catalogue(all).front());
  EXPECT_EQ(tool["annotations"]["readOnlyHint"], false);
  tool.erase("annotations");  // models do not get them
  EXPECT_LT(to_text(tool).size(), 180U);
}

}  // namespace
}  // namespace fx::server
