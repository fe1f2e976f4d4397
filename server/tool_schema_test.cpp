// Every tool's schema must be accepted by every client: one that is not makes the client drop the whole list.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tools/catalogue.h"

namespace fx::server {
namespace {

const std::set<std::string> kForbidden = {"$ref", "$defs", "definitions",      "oneOf", "anyOf", "allOf", "not", "if",
                                          "then", "else",  "patternProperties"};

void check(const Json& schema, const std::string& place) {
  ASSERT_TRUE(schema.is_object()) << place;
  for (const auto& [key, value] : schema.items()) EXPECT_FALSE(kForbidden.contains(key)) << place << "." << key;
  EXPECT_TRUE(!schema.contains("type") || schema["type"].is_string()) << place;
  for (const auto& choice : schema.value("enum", Json::array())) EXPECT_TRUE(choice.is_string()) << place;
  const Json properties = schema.value("properties", Json::object());
  for (const auto& name : schema.value("required", Json::array())) {
    EXPECT_TRUE(properties.contains(name.get<std::string>())) << place << " requires " << name;
  }
  for (const auto& [name, property] : properties.items()) check(property, place + "." + name);
  if (schema.contains("items")) check(schema["items"], place + "[]");
}

TEST(ToolSchemas, KeepToTheDialectEveryClientTakes) {
  for (const auto& tool : tools::make_catalogue()) {
    for (const auto& text : {tool.input_schema, tool.output_schema}) {
      if (text.empty()) continue;
      const Json schema = Json::parse(text);
      EXPECT_EQ(schema.value("type", ""), "object") << tool.name;
      EXPECT_TRUE(schema.contains("properties")) << tool.name;
      check(schema, tool.name);
    }
  }
}

TEST(ToolSchemas, HaveUniqueStableNamesAndPlainDescriptions) {
  std::set<std::string> names;
  for (const auto& tool : tools::make_catalogue()) {
    EXPECT_TRUE(std::regex_match(tool.name, std::regex("[a-z_]{1,40}"))) << tool.name;
    EXPECT_TRUE(names.insert(tool.name).second) << tool.name;
    EXPECT_FALSE(tool.description.empty()) << tool.name;
    EXPECT_LE(tool.description.size(), 400u) << tool.name;
    EXPECT_EQ(tool.description.find_first_of("`{}<>\n"), std::string::npos) << tool.name << ": no code in descriptions";
  }
}

}  // namespace
}  // namespace fx::server
