#include "server/commands/plan_flags.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/plan_finetune.h"

namespace fx::server {
namespace {

Json arguments_of(const PlanFlagTexts& texts) {
  Json out = Json::object();
  EXPECT_TRUE(add_plan_flags(texts, out));
  return out;
}

TEST(PlanFlags, NumbersMayHaveUnits) {
  const Json out = arguments_of({{"training.seq_len", "8k"}, {"data.tokens", "1.5B"}, {"hardware.gpus_per_node", "8"}});
  EXPECT_EQ(out["training"]["seq_len"], 8192);
  EXPECT_EQ(out["data"]["tokens"], 1'500'000'000);
  EXPECT_EQ(out["hardware"]["gpus_per_node"], 8);
}

TEST(PlanFlags, ParametersAreBillionsOrCounted) {
  for (const char* text : {"8", "8B", "8b", "8e9", "8000M"}) {
    EXPECT_EQ(arguments_of({{"model.params_b", text}})["model"]["params_b"], 8) << text;
  }
  EXPECT_EQ(arguments_of({{"model.params_b", "500M"}})["model"]["params_b"], 0.5);
}

TEST(PlanFlags, MemoryMayNameItsUnit) {
  for (const char* text : {"24", "24GB", "24 GiB", "24g"}) {
    EXPECT_EQ(arguments_of({{"hardware.gpu_memory_gib", text}})["hardware"]["gpu_memory_gib"], 24) << text;
  }
}

TEST(PlanFlags, WhatIsNoNumberIsAnErrorAtItsField) {
  Json out = Json::object();
  const auto added =
      add_plan_flags({{"training.seq_len", "long"}, {"data.tokens", "k"}, {"price_per_gpu_hour", "1e999"}}, out);
  ASSERT_FALSE(added);
  ASSERT_EQ(added.error().details.size(), 3U);
  EXPECT_EQ(added.error().details[0].field, "training.seq_len");
}

TEST(PlanFlags, WhatIsNotGivenIsLeftToThePlanner) {
  EXPECT_EQ(arguments_of({{"training.method", ""}}), Json::object());
  EXPECT_EQ(arguments_of({{"training.cpu_offload", "yes"}})["training"]["cpu_offload"], true);
}

TEST(PlanFlags, EachIsAnArgumentOfTheTool) {
  const std::string schema = tools::plan_finetune_tool().input_schema;
  for (const PlanFlag& flag : plan_flags()) {
    const std::string field = flag.field;
    EXPECT_NE(schema.find('"' + field.substr(field.find('.') + 1) + '"'), std::string::npos) << field;
  }
}

}  // namespace
}  // namespace fx::server
