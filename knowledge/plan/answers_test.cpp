#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

Plan plan_of(const char* text) {
  const auto args = plan_fields().parse(*parse_json(text));
  EXPECT_TRUE(args);
  auto plan = make_plan(*args);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return plan ? *std::move(plan) : Plan{};
}

const char* const kTwoNodes = R"({"model":{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,
  "num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256},
  "hardware":{"gpu":"A100-80GB-SXM","gpus_per_node":8,"nodes":2},"training":{"method":"full","seq_len":4096}})";

std::string answer(const Plan& plan, const std::string& id) {
  for (const auto& a : plan.answers) {
    if (a.id == id) return a.text;
  }
  return {};
}

bool has_number(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

TEST(Answers, EveryQuestionIsAnsweredFromNumbers) {
  const Plan plan = plan_of(kTwoNodes);
  for (const char* id : {"peak_memory", "wrapping", "best_batch", "longest_sequence", "fewest_gpus", "cpu_offload",
                         "checkpointing_policy", "reduce_dtype", "mixed_precision", "when_hsdp", "smaller_reshard_mesh",
                         "keep_after_forward", "dominating_module", "who_holds_unsharded", "checkpointing_releases"}) {
    EXPECT_TRUE(has_number(answer(plan, id))) << id << ": " << answer(plan, id);
  }
}

TEST(Answers, BestBatchIsTheLastThatFits) {
  const Plan plan = plan_of(kTwoNodes);
  const std::string text = answer(plan, "best_batch");
  ASSERT_EQ(text.rfind("Up to ", 0), 0U) << text;
  const double most = std::stod(text.substr(6));
  const auto with = [&](double batch) {
    Setting s = plan.chosen.setting;
    s.micro_batch = batch;
    return evaluate(plan.shape, plan.count, s, plan.machine).memory;
  };
  EXPECT_TRUE(with(most).fits);
  EXPECT_FALSE(with(most + 1).fits);
}

TEST(Answers, CanBeLeftOut) {
  Json json = *parse_json(kTwoNodes);
  json["answers"] = false;
  EXPECT_TRUE(plan_of(json.dump().c_str()).answers.empty());
}

TEST(Steps, SayWhatThePlanWouldNeedWithoutEachMeasure) {
  Json json = *parse_json(kTwoNodes);
  json["hardware"]["gpu"] = "A100-40GB-SXM";
  json["training"]["seq_len"] = 16384;
  const Plan plan = plan_of(json.dump().c_str());
  ASSERT_GE(plan.steps.size(), 3U);
  EXPECT_NE(plan.steps.front().find("does not fit"), std::string::npos) << plan.steps.front();
  EXPECT_NE(plan.steps.back().find(", fits"), std::string::npos) << plan.steps.back();
  for (std::size_t i = 1; i < plan.steps.size(); ++i) {
    EXPECT_NE(plan.steps[i].find("without it would need"), std::string::npos) << plan.steps[i];
  }
}

TEST(Search, RankedWaysDifferAndFittingOnesComeFirst) {
  const Plan plan = plan_of(kTwoNodes);
  ASSERT_GE(plan.ranked.size(), 3U);
  EXPECT_TRUE(plan.ranked.front().memory.fits);
  EXPECT_TRUE(
      std::is_partitioned(plan.ranked.begin(), plan.ranked.end(), [](const Candidate& c) { return c.memory.fits; }));
  EXPECT_GE(plan.ranked.front().speed.tokens_per_s, plan.chosen.speed.tokens_per_s);
}

TEST(Search, TheGlobalBatchDecidesAccumulation) {
  Json json = *parse_json(kTwoNodes);
  json["training"]["global_batch_size"] = 512;
  const Plan plan = plan_of(json.dump().c_str());
  const Setting& s = plan.chosen.setting;
  EXPECT_GE(s.micro_batch * s.grad_accum * 16, 512);
  EXPECT_LT(s.micro_batch * (s.grad_accum - 1) * 16, 512);
}

TEST(Search, OffloadAndLowerStatesComeOnlyWhenNothingElseFits) {
  Json json = *parse_json(kTwoNodes);
  EXPECT_FALSE(plan_of(json.dump().c_str()).chosen.setting.offload);
  json["hardware"] = {{"gpu", "RTX 4090"}, {"gpus_per_node", 2}};
  const Plan small = plan_of(json.dump().c_str());
  EXPECT_TRUE(small.chosen.setting.offload);
  EXPECT_TRUE(small.chosen.memory.fits);
}

}  // namespace
}  // namespace fx::knowledge::plan
