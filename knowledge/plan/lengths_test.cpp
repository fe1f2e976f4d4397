#include "knowledge/plan/lengths.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "knowledge/plan/plan_testing.h"

namespace fx::knowledge::plan {
namespace {

Setting batch_of(double examples, double mean) {
  Setting s;
  s.seq = 2048, s.micro_batch = examples, s.example = mean;
  return s;
}

TEST(Lengths, APaddedBatchIsAsLongAsItsLongestExample) {
  EXPECT_EQ(padded_length(batch_of(4, 0)), 2048);
  EXPECT_EQ(padded_length(batch_of(1, 300)), 300);
  // 1 + 1/2 + 1/3 + 1/4 means.
  EXPECT_NEAR(padded_length(batch_of(4, 300)) / 300, 25.0 / 12, 0.01);
  EXPECT_EQ(padded_length(batch_of(4096, 300)), 2048);
}

TEST(Lengths, BatchesThatWereTheLongestSoFarAddUp) {
  EXPECT_EQ(longest_so_far(batch_of(1, 2048)), 1);
  EXPECT_EQ(longest_so_far(batch_of(1, 512)), 2.5);
}

Json padded(const char* mean) {
  Json json = arguments(kLlama8, R"({"gpu":"H100"})",
                        R"({"method":"lora","seq_len":2048,"micro_batch":4,"loss_impl":"standard",
                          "activation_checkpointing":"full","sharding":"none"})");
  if (mean != nullptr) json["data"]["example_tokens"] = *parse_json(mean);
  return json;
}

TEST(Lengths, PaddingCostsSpeedAndCachedBlocksAndPackingIsRecommended) {
  const auto even = try_plan(padded(nullptr)), varied = try_plan(padded("400"));
  ASSERT_TRUE(even && varied);
  EXPECT_LT(varied->chosen.speed.tokens_per_s, 0.6 * even->chosen.speed.tokens_per_s);
  EXPECT_GT(varied->chosen.memory.reserved, even->chosen.memory.reserved + 10 * kGib);
  EXPECT_EQ(varied->chosen.memory.allocated, even->chosen.memory.allocated);
  EXPECT_EQ(varied->recommendations.front().change, "pack examples into sequences of 2048 tokens");
}

TEST(Lengths, AMeanAboveTheLongestIsAnErrorAtItsField) {
  const auto plan = try_plan(padded("4000"));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().field, "data.example_tokens");
}

}  // namespace
}  // namespace fx::knowledge::plan
