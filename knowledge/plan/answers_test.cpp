#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "knowledge/plan/plan.h"
#include "knowledge/plan/search.h"

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

TEST(Search, TheGlobalBatchIsMetExactlyWhereItDivides) {
  Json json = *parse_json(kTwoNodes);
  for (const double batch : {16.0, 48.0, 160.0, 336.0}) {
    json["training"]["global_batch_size"] = batch;
    const Plan plan = plan_of(json.dump().c_str());
    const Setting& s = plan.chosen.setting;
    EXPECT_EQ(s.micro_batch * s.grad_accum * shards_of(s, plan.machine).data_parallel, batch);
  }
}

TEST(Search, EverythingThatIsOpenVaries) {
  const auto args = plan_fields().parse(*parse_json(kTwoNodes));
  ASSERT_TRUE(args);
  const Machine machine = plan_of(kTwoNodes).machine;
  const auto shape = read_model_shape(args->model);
  const auto resolved = resolve(*args, *shape, count_params(*shape), machine);
  const Space usual = space_in_reach(*shape, *resolved, machine, Reach::kUsual);
  std::set<std::tuple<Sharding, bool, double, double>> layouts;
  for (const Layout& l : usual.layouts) layouts.insert({l.sharding, l.reshard, l.shard_size, l.tp});
  using S = Sharding;
  for (const auto& wanted : std::vector<std::tuple<S, bool, double, double>>{{S::kDdp, true, 0, 1},
                                                                             {S::kFsdp2, true, 0, 1},
                                                                             {S::kFsdp2, false, 0, 1},
                                                                             {S::kHsdp, true, 2, 1},
                                                                             {S::kHsdp, false, 8, 1},
                                                                             {S::kFsdp2, true, 0, 8},
                                                                             {S::kHsdp, true, 4, 2}}) {
    EXPECT_TRUE(layouts.contains(wanted)) << static_cast<int>(std::get<0>(wanted)) << " " << std::get<2>(wanted);
  }
  EXPECT_EQ(usual.trims.size(), 2U * 2 * 4);  // losses, compilers, checkpointing policies
  const Space costly = space_in_reach(*shape, *resolved, machine, Reach::kCostly);
  EXPECT_TRUE(std::any_of(costly.cores.begin(), costly.cores.end(), [](const Setting& s) { return s.offload; }));
  const auto batches = batches_of(*resolved, machine, assemble(resolved->setting, usual.layouts[1], usual.trims[0]));
  EXPECT_TRUE(std::any_of(batches.begin(), batches.end(), [](const Batch& b) { return b.micro == 4; }));
  EXPECT_TRUE(std::any_of(batches.begin(), batches.end(), [](const Batch& b) { return b.accumulation == 4; }));
}

TEST(Search, ASlowNetworkMakesGroupsSmaller) {
  Json json = *parse_json(kTwoNodes);
  json["hardware"] = {{"gpu", "H200"}, {"gpus_per_node", 8}, {"nodes", 8}, {"interconnect_gb_s", 5}};
  json["training"]["grad_accum"] = 16;  // gradients cross the network once a step, gathers in every micro-batch
  const Setting s = plan_of(json.dump().c_str()).chosen.setting;
  EXPECT_TRUE(s.sharding == Sharding::kHsdp && s.shard_size <= 8)
      << static_cast<int>(s.sharding) << " " << s.shard_size;
}

TEST(Search, AdaptersOnlyWhereTheMethodIsOpenAndNothingElseFits) {
  Json json = {{"model", {{"params_b", 70}}},
               {"hardware", {{"gpu", "RTX 3090"}, {"gpus_per_node", 2}, {"host_memory_gib", 64}}}};
  const Plan adapters = plan_of(json.dump().c_str());
  EXPECT_EQ(adapters.chosen.setting.method, Method::kQlora);
  json["training"] = {{"method", "full"}};
  const Plan full = plan_of(json.dump().c_str());
  EXPECT_EQ(full.chosen.setting.method, Method::kFull);
  EXPECT_FALSE(full.chosen.memory.fits);
}

TEST(Search, OffloadNeedsTheHostsMemory) {
  Json json = *parse_json(kTwoNodes);
  json["hardware"] = {{"gpu", "RTX 4090"}, {"gpus_per_node", 2}, {"host_memory_gib", 40}};
  json["training"] = {{"method", "full"}, {"sharding", "fsdp2"}, {"cpu_offload", true}, {"micro_batch", 1}};
  EXPECT_FALSE(plan_of(json.dump().c_str()).chosen.memory.fits);
  json["hardware"]["host_memory_gib"] = 256;
  EXPECT_TRUE(plan_of(json.dump().c_str()).chosen.memory.fits);
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
