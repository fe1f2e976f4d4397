#include "spec/fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fx {
namespace {

struct Inner {
  double lr = 1e-3;
  std::string schedule = "cosine";
};
struct Outer {
  std::string model;
  std::optional<long long> steps;
  std::vector<double> betas = {0.9, 0.95};
  Inner optimizer;
  std::vector<Inner> stages;
};

const Fields<Inner>& inner_fields() {
  static const auto fields = Fields<Inner>{}
                                 .add("lr", &Inner::lr, "learning rate")
                                 .above(0)
                                 .add("schedule", &Inner::schedule, "shape")
                                 .one_of({"cosine", "linear"});
  return fields;
}
const Fields<Outer>& outer_fields() {
  static const auto fields = Fields<Outer>{}
                                 .add("model", &Outer::model, "HF folder")
                                 .required()
                                 .add("steps", &Outer::steps, "optimizer steps")
                                 .min(1)
                                 .add("betas", &Outer::betas, "Adam betas")
                                 .min(0)
                                 .max(1)
                                 .add("optimizer", &Outer::optimizer, "optimizer", inner_fields())
                                 .add("stages", &Outer::stages, "stages", inner_fields());
  return fields;
}

TEST(Fields, ReadsNestedValuesAndKeepsDefaults) {
  const auto out = outer_fields().parse(
      *parse_json(R"({"model":"m","steps":20,"optimizer":{"lr":0.1},"stages":[{"lr":1},{"schedule":"linear"}]})"));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->steps, 20);
  EXPECT_EQ(out->optimizer.lr, 0.1);
  EXPECT_EQ(out->optimizer.schedule, "cosine");
  EXPECT_EQ(out->stages.at(1).schedule, "linear");
}

TEST(Fields, ReportsEveryMistakeWithItsPath) {
  const auto out =
      outer_fields().parse(*parse_json(R"({"steps":0,"betas":[0.9,2],"optimizer":{"lr":"x","schedule":"cosin"}})"));
  ASSERT_FALSE(out);
  std::vector<std::string> fields;
  for (const auto& e : out.error().details) fields.push_back(e.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"steps", "betas[1]", "optimizer.lr", "optimizer.schedule", "model"}));
  EXPECT_EQ(out.error().details[3].hint, "did you mean cosine?");
}

TEST(Fields, UnknownKeysAreNamedWithTheNearestOne) {
  std::vector<std::string> unknown;
  ASSERT_TRUE(outer_fields().parse(*parse_json(R"({"model":"m","stepz":3})"), &unknown));
  EXPECT_EQ(unknown, std::vector<std::string>{"stepz (did you mean steps?)"});
}

TEST(Fields, PrintsWhatItReads) {
  const std::string text =
      R"({"model":"m","steps":3,"betas":[0.5,0.25],"optimizer":{"lr":0.5,"schedule":"linear"},"stages":[]})";
  Json printed = Json::object();
  outer_fields().write(*outer_fields().parse(*parse_json(text)), printed);
  EXPECT_EQ(to_text(printed), text);
}

TEST(Fields, SchemaUsesOnlyWhatEveryClientAccepts) {
  const Json schema = schema_of(outer_fields().infos());
  EXPECT_EQ(schema["required"], Json({"model"}));
  EXPECT_EQ(schema["properties"]["optimizer"]["properties"]["schedule"]["enum"], Json({"cosine", "linear"}));
  EXPECT_EQ(schema["properties"]["betas"]["items"]["type"], "number");
  EXPECT_EQ(to_text(schema).find("$ref"), std::string::npos);
}

}  // namespace
}  // namespace fx
