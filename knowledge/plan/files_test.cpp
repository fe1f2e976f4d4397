#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "knowledge/plan/plan_testing.h"
#include "spec/run_spec.h"

namespace fx::knowledge::plan {
namespace {

TEST(Files, RunSpecFileIsAValidSpec) {
  Json json =
      arguments(kSmol, R"({"gpu":"cpu","gpus_per_node":2})", R"({"method":"full","seq_len":1024,"micro_batch":1})");
  json["files"] = {"run_spec", "accelerate", "torchtitan", "torchrun", "sbatch"};
  const auto plan = try_plan(json);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->files.size(), 5U);
  const auto spec = parse_run_spec_text(plan->files[0].second);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_TRUE(spec->warnings.empty());
  EXPECT_EQ(spec->spec.fsdp.shard, 2);
}

TEST(Files, RunSpecFileOfAdaptersAsksForThem) {
  Json json = arguments(kSmol, R"({"gpu":"cpu","gpus_per_node":2})",
                        R"({"method":"lora","lora_rank":8,"lora_targets":["all-linear"],"seq_len":1024})");
  json["files"] = {"run_spec"};
  const auto plan = try_plan(json);
  ASSERT_TRUE(plan);
  const auto spec = parse_run_spec_text(plan->files.at(0).second);
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_TRUE(spec->spec.lora);
  EXPECT_EQ(spec->spec.lora->rank, 8);
  json["training"]["method"] = "qlora";
  EXPECT_TRUE(try_plan(json)->files.empty());
}

}  // namespace
}  // namespace fx::knowledge::plan
