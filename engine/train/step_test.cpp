#include "engine/train/step.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

using testing::expect_close;
using testing::fp32_policy;
using testing::Outcome;
using testing::train;
using testing::Training;

Training on(int ranks, bool tied = true, StepPolicy policy = fp32_policy()) {
  Training training;
  training.ranks = ranks, training.tied = tied, training.policy = policy;
  return training;
}

// Four ranks: shards of four rows and less, some of them empty.
Training on_four(StepPolicy policy = fp32_policy()) {
  Training training = on(4, true, policy);
  training.packs = 12, training.steps = 4;
  return training;
}

Training on_one_like_four(StepPolicy policy = fp32_policy()) {
  Training training = on_four(policy);
  training.ranks = 1;
  return training;
}

TEST(Step, GivesTheSameLossesForAnyNumberOfRanks) {
  for (const bool tied : {true, false}) {
    const Outcome one = train(on(1, tied));
    EXPECT_LT(one.losses.back(), one.losses.front());
    for (const int ranks : {2, 3}) expect_close(one, train(on(ranks, tied)), 1e-5);
  }
  expect_close(train(on_one_like_four()), train(on_four()), 1e-5);
}

TEST(Step, KeepingOrRecomputingChangesNoNumber) {
  const Outcome base = train(on(2));
  StepPolicy keep = fp32_policy();
  keep.reshard_after_forward = false;
  EXPECT_EQ(base.losses, train(on(2, true, keep)).losses);
  for (const int every : {1, 2}) {
    StepPolicy recompute = fp32_policy();
    recompute.recompute_every = every;
    EXPECT_EQ(base.losses, train(on(2, true, recompute)).losses);
  }
}

TEST(Step, GatheringAheadOrKeepingParametersBetweenMicroBatchesChangesNoNumber) {
  const auto losses_with = [](const std::function<void(Training&)>& change) {
    std::vector<std::vector<double>> losses;
    for (const bool tied : {true, false}) {
      for (const bool reshard : {true, false}) {
        Training training = on(2, tied);
        training.policy.reshard_after_forward = reshard;
        training.packs = 6, training.steps = 4;
        change(training);
        losses.push_back(train(training).losses);
      }
    }
    return losses;
  };
  const auto base = losses_with([](Training&) {});
  EXPECT_EQ(base, losses_with([](Training& t) { t.policy.reshard_after_backward = false; }));
  for (const std::size_t ahead : {0, 2, 9}) {
    EXPECT_EQ(base, losses_with([&](Training& t) { t.policy.forward_prefetch = t.policy.backward_prefetch = ahead; }));
  }
  const auto held = losses_with([](Training& t) { t.early = GradientSync::kNone; });
  EXPECT_EQ(held, losses_with([](Training& t) {
              t.early = GradientSync::kNone;
              t.policy.reshard_after_backward = false;
            }));
}

TEST(Step, KeepingParametersChangesNoNumberOfSlicesCopiesAndRecomputation) {
  StepPolicy sliced = fp32_policy(), copies = fp32_policy();
  sliced.keep_slice_ranks = 2, sliced.recompute_every = 1;
  copies.replicate = 2;
  for (StepPolicy policy : {sliced, copies}) {
    const auto base = train(on_four(policy)).losses;
    policy.reshard_after_backward = false, policy.backward_prefetch = 2;
    EXPECT_EQ(base, train(on_four(policy)).losses);
  }
}

TEST(Step, ASliceOverFewerRanksChangesNoNumber) {
  StepPolicy sliced = fp32_policy();
  sliced.keep_slice_ranks = 2;
  EXPECT_EQ(train(on(2, false)).losses, train(on(2, false, sliced)).losses);
  EXPECT_EQ(train(on_four()).losses, train(on_four(sliced)).losses);
  sliced.recompute_every = 1;
  EXPECT_EQ(train(on_four()).losses, train(on_four(sliced)).losses);
}

TEST(Step, RerunIsBitIdentical) {
  EXPECT_EQ(train(on(3, false)).losses, train(on(3, false)).losses);
}

TEST(Step, Bf16FollowsFp32WithinItsPrecision) {
  Training training = on(2);
  training.steps = 5;
  const Outcome exact = train(training);
  training.policy = StepPolicy{};
  expect_close(exact, train(training), 2e-2);
  training.policy.precision.reduce_dtype = at::kBFloat16;
  expect_close(exact, train(training), 2e-2);
}

TEST(Step, Fp16ReductionFollowsFp32) {
  Training training = on_four();
  const Outcome exact = train(training);
  training.policy.precision.reduce_dtype = at::kHalf;
  expect_close(exact, train(training), 1e-3);
}

TEST(Step, NormsInFp32AreCloserToFp32ThanAllInBf16) {
  Training training = on(2, false);
  training.steps = 3;
  const Outcome exact = train(training);
  training.policy = StepPolicy{};
  training.policy.precision.norms_fp32 = true;
  const Outcome mixed = train(training);
  expect_close(exact, mixed, 2e-2);
  training.policy.precision.norms_fp32 = false;
  EXPECT_NE(mixed.losses, train(training).losses);
  // Norms are vectors of 15: two bytes more an element, in every gather of their group.
  training.policy.precision.param_dtype = at::kFloat, training.policy.precision.norms_fp32 = true;
  EXPECT_EQ(exact.losses, train(training).losses);
}

TEST(Step, CopiesOfTheModelTrainLikeOne) {
  for (const int copies : {2, 4}) {
    StepPolicy policy = fp32_policy();
    policy.replicate = copies;
    expect_close(train(on_one_like_four()), train(on_four(policy)), 1e-5);
  }
  StepPolicy sliced = fp32_policy();
  sliced.replicate = 2, sliced.keep_slice_ranks = 2;
  StepPolicy plain = fp32_policy();
  plain.replicate = 2;
  EXPECT_EQ(train(on_four(plain)).losses, train(on_four(sliced)).losses);
}

TEST(Step, AccumulationWithoutCommunicationGivesTheSameLosses) {
  for (const GradientSync early : {GradientSync::kNone, GradientSync::kReduceScatter}) {
    for (const int copies : {1, 2}) {
      StepPolicy policy = fp32_policy();
      policy.replicate = copies;
      Training training = on_four(policy);
      const Outcome each = train(training);
      training.early = early;
      expect_close(each, train(training), 1e-5);
    }
  }
}

TEST(Step, AccumulationWithoutCommunicationReducesOncePerStep) {
  Training training = on(2);
  training.steps = 1;
  const auto calls = train(training).stats.calls;
  training.early = GradientSync::kNone;
  // Three micro-batches; four groups are reduced in the last one only.
  EXPECT_EQ(calls - train(training).stats.calls, 2 * 4);
}

TEST(Step, TheGlobalNormIsThatOfTheWholeModelOnAnyNumberOfRanks) {
  for (const double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    Training training = on_one_like_four();
    training.clip_norm = p;
    const Outcome one = train(training);
    training.ranks = 4;
    expect_close(one, train(training), 1e-5);
    training.policy.replicate = 2;
    expect_close(one, train(training), 1e-5);
  }
}

TEST(Step, FrozenParametersStayAsTheyAreAndTheOthersTrainAlike) {
  const auto norms = [](const std::string& name) { return name.find("norm") != std::string::npos; };
  const auto lower = [](const std::string& name) {
    return name.find("embed") != std::string::npos || name.find("layers.0") != std::string::npos ||
           name.find("layers.1") != std::string::npos;
  };
  const auto all_but_head = [](const std::string& name) { return name.find("lm_head") == std::string::npos; };
  for (const auto& frozen : std::vector<std::function<bool(const std::string&)>>{norms, lower, all_but_head}) {
    for (const bool tied : {true, false}) {
      Training training = on(1, tied);
      training.frozen = frozen;
      training.steps = 3;
      std::vector<at::Tensor> before, after;
      const auto keep = [&](std::vector<at::Tensor>& list) {
        return [&list, frozen](ShardedModel& sharded) {
          for (auto& group : sharded.groups()) {
            const auto& params = group->layout().params;
            for (std::size_t i = 0; i < params.size(); ++i) {
              if (frozen(params[i].def.name)) list.push_back(group->weight_rows(i).clone());
            }
          }
        };
      };
      training.at_end = keep(after);
      const Outcome one = train(training);
      training.at_end = keep(before), training.steps = 0;
      train(training);
      ASSERT_EQ(before.size(), after.size());
      for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].equal(after[i]));
      training.at_end = {}, training.steps = 3;
      for (const int ranks : {2, 3}) {
        training.ranks = ranks;
        expect_close(one, train(training), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace fx::engine
