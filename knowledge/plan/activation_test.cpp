#include "knowledge/plan/activation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "knowledge/plan/plan_testing.h"

namespace fx::knowledge::plan {
namespace {

Plan full(const char* more) {
  return plan_of(
      kMistral, R"({"gpu":"H100","gpus_per_node":8})",
      (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"fsdp2")") + more + "}").c_str());
}

double saved(const Plan& plan) {
  return layer_activations(plan.shape, plan.chosen.setting).saved;
}

bool says(const Plan& plan, const char* words) {
  return std::ranges::any_of(plan.limits, [&](const std::string& l) { return l.find(words) != std::string::npos; });
}

TEST(Activation, UnderFp8TheCompilerKeepsInputsInOneByte) {
  const double inputs = 2 * 4096 + 14336;
  EXPECT_EQ(saved(full(R"(,"compile":true)")) - saved(full(R"(,"compile":true,"fp8":true)")), inputs);
  EXPECT_EQ(saved(full(R"(,"compile":false)")), saved(full(R"(,"compile":false,"fp8":true)")));
}

TEST(Activation, WhatStacksKeepOfGatheredInputsIsSaid) {
  const auto plan = [](const char* sharding) {
    return plan_of(kMistral, R"({"gpu":"H100","gpus_per_node":8})",
                   (std::string(R"({"method":"full","seq_len":4096,"micro_batch":4,"tp":4,
                     "activation_checkpointing":"none","sharding":")") +
                    sharding + "\"}")
                       .c_str());
  };
  EXPECT_TRUE(says(plan("zero1"), "column-parallel"));
  EXPECT_FALSE(says(plan("fsdp2"), "column-parallel"));
}

}  // namespace
}  // namespace fx::knowledge::plan
