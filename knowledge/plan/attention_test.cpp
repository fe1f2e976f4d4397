#include "knowledge/plan/attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "knowledge/plan/plan_testing.h"

namespace fx::knowledge::plan {
namespace {

Plan attention_plan(const std::string& training) {
  return plan_of(
      kMistral, R"({"gpu":"H200","gpus_per_node":8})",
      (R"({"method":"full","seq_len":2048,"micro_batch":1,"sharding":"fsdp2","loss_impl":"liger",)" + training + "}")
          .c_str());
}

TEST(Attention, AFusedKernelKeepsNoScores) {
  for (const char* kind : {R"("attention":"sdpa")", R"("attention":"flash")", R"("compile":false)"}) {
    const Plan plan = attention_plan(kind);
    EXPECT_EQ(attention_scores(plan.shape, plan.chosen.setting).saved, 0) << kind;
    EXPECT_EQ(attention_scores(plan.shape, plan.chosen.setting).traffic, 0) << kind;
  }
}

TEST(Attention, WrittenInOperationsItKeepsAnFp32SoftmaxAndItsCast) {
  const Plan plan = attention_plan(R"("attention":"eager")");
  Setting s = plan.chosen.setting;
  const double scores = 32 * 2048;  // a token
  EXPECT_EQ(attention_scores(plan.shape, s).saved, 6 * scores);
  EXPECT_EQ(attention_scores(plan.shape, s).in_flight, 12 * scores);
  s.tp = 4;
  EXPECT_EQ(attention_scores(plan.shape, s).saved, 6 * scores / 4);
  s.tp = 1, s.param_bytes = 4;
  EXPECT_EQ(attention_scores(plan.shape, s).saved, 4 * scores);
}

TEST(Attention, ScoresOfAllLayersStayUnlessTheyAreRecomputed) {
  const auto more = [](const char* checkpointing) {
    const std::string rest = std::string(R"("activation_checkpointing":")") + checkpointing + "\"";
    return attention_plan(R"("attention":"eager",)" + rest).chosen.memory.allocated -
           attention_plan(rest).chosen.memory.allocated;
  };
  const double layer = 32.0 * 2048 * 2048;
  EXPECT_GT(more("none"), 6 * 32 * layer);
  EXPECT_LT(more("full"), 18 * layer);
}

TEST(Attention, WrittenInOperationsItIsSlowAndAFusedKernelIsRecommended) {
  const Plan eager = attention_plan(R"("activation_checkpointing":"full","attention":"eager")");
  EXPECT_LT(eager.chosen.speed.tokens_per_s,
            0.8 * attention_plan(R"("activation_checkpointing":"full")").chosen.speed.tokens_per_s);
  EXPECT_TRUE(
      std::ranges::any_of(eager.recommendations, [](const auto& r) { return r.change == "attention: eager -> sdpa"; }));
}

}  // namespace
}  // namespace fx::knowledge::plan
