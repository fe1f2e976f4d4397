#include "spec/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fx {
namespace {

TEST(ParseJson, SaysWhereItBreaks) {
  const auto bad = parse_json("{\n  \"a\": 1,\n  \"b\" 2\n}");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("line 3"), std::string::npos) << bad.error().message;
}

TEST(ParseJson, RefusesDepthAndSizeBeforeParsing) {
  EXPECT_FALSE(parse_json(std::string(100000, '[')));
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\""));
  EXPECT_EQ(parse_json("[1,2,3]", {64, 3}).error().code, ErrorCode::kTooLarge);
  std::string wide = "{";
  for (int i = 0; i < 3000; ++i) wide += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  EXPECT_NE(parse_json(wide + "}").error().message.find("more than 2048 keys"), std::string::npos);
  EXPECT_FALSE(parse_json("\xFF\xFE"));
  EXPECT_FALSE(parse_json(""));
}

TEST(ToText, ReplacesInvalidUtf8) {
  EXPECT_EQ(to_text(Json("a\xFF")), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace fx
