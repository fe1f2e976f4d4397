#include "engine/lora/adapted_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/comm/local.h"
#include "engine/kernels/adapted_product.h"
#include "engine/lora/adapters.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

using testing::expect_close;
using testing::fp32_policy;
using testing::Outcome;
using testing::Training;

LoraSpec lora_of(long long rank, std::vector<std::string> modules = {"all-linear"}) {
  LoraSpec lora;
  lora.rank = rank, lora.alpha = 3.0 * static_cast<double>(rank) / 2, lora.target_modules = std::move(modules);
  return lora;
}

std::unique_ptr<Model> adapted(bool tied, const LoraSpec& lora) {
  const ModelShape shape = testing::tiny(tied);
  return std::make_unique<AdaptedModel>(make_model(shape), shape, lora);
}

Training on(int ranks, bool tied, StepPolicy policy = fp32_policy(), const LoraSpec& lora = lora_of(5)) {
  Training training;
  training.ranks = ranks, training.policy = policy;
  training.packs = 12, training.steps = 5;
  training.make = [=] { return adapted(tied, lora); };
  return training;
}

TEST(AdaptedProduct, EqualsTheProductWithTheChangedWeight) {
  at::manual_seed(3);
  const auto inputs = [](at::ScalarType dtype) {
    at::manual_seed(4);
    return std::vector<at::Tensor>{at::randn({70, 48}).to(dtype), at::randn({33, 48}).to(dtype),
                                   at::randn({6, 48}).to(dtype), at::randn({33, 6}).to(dtype)};
  };
  const auto error = [](const at::Tensor& ours, const at::Tensor& theirs) {
    return ((ours.to(at::kFloat) - theirs).norm() / theirs.norm()).item<double>();
  };
  for (const bool bf16 : {false, true}) {
    auto ours = inputs(bf16 ? at::kBFloat16 : at::kFloat), reference = inputs(at::kFloat);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      reference[i] = ours[i].to(at::kFloat, false, true).set_requires_grad(true);
      ours[i].set_requires_grad(true);
    }
    const at::Tensor y = adapted_product(ours[0], ours[1], ours[2], ours[3], 1.5f, {});
    const at::Tensor weight = reference[1].add(at::mm(reference[3], reference[2]).mul(1.5));
    const at::Tensor z = at::linear(reference[0], weight);
    EXPECT_LT(error(y, z), bf16 ? 1e-2 : 1e-6);
    const at::Tensor direction = at::randn_like(z).to(y.scalar_type());
    y.backward(direction);
    z.backward(direction.to(at::kFloat));
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_LT(error(ours[i].grad(), reference[i].grad()), bf16 ? 1e-2 : 1e-6) << i;
    }
  }
}

TEST(AdaptedModel, TrainsAlikeOnAnyNumberOfRanks) {
  for (const bool tied : {true, false}) {
    const Outcome one = train(on(1, tied));
    EXPECT_LT(one.losses.back(), one.losses.front());
    for (const int ranks : {2, 3, 4}) expect_close(one, train(on(ranks, tied)), 1e-5);
  }
}

LoraSpec with_dropout(double p) {
  LoraSpec lora = lora_of(5);
  lora.dropout = p;
  return lora;
}

TEST(AdaptedModel, DropsTheSameOnAnyNumberOfRanksAndWhenABlockIsRecomputed) {
  const auto run = [](int ranks, double p, StepPolicy policy = fp32_policy()) {
    return train(on(ranks, true, policy, with_dropout(p)));
  };
  const Outcome one = run(1, 0.3);
  EXPECT_NE(one.losses, run(1, 0).losses);
  EXPECT_NE(one.losses, run(1, 0.6).losses);
  for (const int ranks : {2, 3, 4}) expect_close(one, run(ranks, 0.3), 1e-5);
  const Outcome two = run(2, 0.3);
  EXPECT_EQ(two.losses, run(2, 0.3).losses);
  for (const int every : {1, 2}) {
    StepPolicy policy = fp32_policy();
    policy.recompute_every = every;
    EXPECT_EQ(two.losses, run(2, 0.3, policy).losses);
  }
  StepPolicy bf16, recomputed;
  recomputed.recompute_every = 1;
  EXPECT_EQ(run(2, 0.3, bf16).losses, run(2, 0.3, recomputed).losses);
}

TEST(AdaptedModel, DropsNothingInEvaluation) {
  const auto losses = [](double p) {
    std::vector<double> out;
    run_local_ranks(1, [&](Collectives& comm) {
      const auto model = adapted(true, with_dropout(p));
      ShardedModel sharded(*model, fp32_policy(), comm);
      testing::initialise(sharded);
      const Batch batch = testing::make_batch(0, 3);
      out = {sharded.evaluate(batch), sharded.logits(batch).sum().item<double>(), sharded.accumulate(batch, 1.0f)};
    });
    return out;
  };
  const auto plain = losses(0), dropped = losses(0.5);
  EXPECT_EQ(plain[0], plain[2]);
  EXPECT_EQ(plain[0], dropped[0]);
  EXPECT_EQ(plain[1], dropped[1]);
  EXPECT_NE(plain[2], dropped[2]);
}

TEST(AdaptedModel, PoliciesChangeNoNumber) {
  const Outcome base = train(on(2, false));
  for (const int every : {1, 2}) {
    StepPolicy policy = fp32_policy();
    policy.recompute_every = every;
    EXPECT_EQ(base.losses, train(on(2, false, policy)).losses);
  }
  StepPolicy keep = fp32_policy();
  keep.reshard_after_forward = false;
  EXPECT_EQ(base.losses, train(on(2, false, keep)).losses);
  StepPolicy sliced = fp32_policy(), copies = fp32_policy();
  sliced.keep_slice_ranks = 2, copies.replicate = 2;
  EXPECT_EQ(train(on(4, false)).losses, train(on(4, false, sliced)).losses);
  expect_close(base, train(on(4, false, copies)), 1e-5);
  Training held = on(2, false);
  held.early = GradientSync::kNone;
  expect_close(base, train(held), 1e-5);
}

TEST(AdaptedModel, Bf16FollowsFp32WithinItsPrecision) {
  Training training = on(2, true, fp32_policy(), lora_of(2));
  training.steps = 2;
  const Outcome exact = train(training);
  training.policy = StepPolicy{};
  expect_close(exact, train(training), 2e-2);
  training.policy.precision.norms_fp32 = true;
  expect_close(exact, train(training), 2e-2);
}

TEST(AdaptedModel, BaseStaysAsItWasAndHasNoMasterCopy) {
  for (const bool bf16 : {false, true}) {
    std::vector<at::Tensor> before, after;
    const auto keep = [&](std::vector<at::Tensor>& list) {
      return [&list, bf16](ShardedModel& sharded) {
        for (auto& group : sharded.groups()) {
          if (group->rank() != 1) continue;
          if (group->name() == "adapters") {
            EXPECT_EQ(group->master().scalar_type(), at::kFloat);
            continue;
          }
          EXPECT_FALSE(group->master().defined());
          EXPECT_EQ(group->grad_layout().shard_numel, 0);
          for (std::size_t i = 0; i < group->layout().params.size(); ++i) {
            list.push_back(group->weight_rows(i).clone());
            EXPECT_EQ(list.back().scalar_type(), bf16 ? at::kBFloat16 : at::kFloat);
          }
        }
      };
    };
    Training training = on(3, true, bf16 ? StepPolicy{} : fp32_policy());
    training.at_end = keep(after);
    train(training);
    training.steps = 0, training.at_end = keep(before);
    train(training);
    ASSERT_EQ(before.size(), after.size());
    ASSERT_FALSE(before.empty());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].equal(after[i])) << i;
  }
}

TEST(AdaptedModel, OnlyTheFirstAdaptedBlockAndThoseAboveHaveABackward) {
  // Adapters on one projection of every block: the embedding alone has none.
  const auto stages = adapted(false, lora_of(2, {"v_proj"}))->stages();
  EXPECT_TRUE(stages.front().adapters.list.empty());
  EXPECT_EQ(stages[1].adapters.list.size(), 1u);
  EXPECT_TRUE(stages.back().adapters.list.empty());
}

TEST(NewAdapters, AreTheSameWhateverTheNumberOfRanks) {
  const LoraSpec lora = lora_of(5);
  const auto whole_of = [&](int ranks) {
    std::vector<at::Tensor> parts(static_cast<std::size_t>(ranks));
    run_local_ranks(ranks, [&](Collectives& comm) {
      const auto model = adapted(true, lora);
      ShardedModel sharded(*model, fp32_policy(), comm);
      ASSERT_TRUE(load_adapters(testing::tiny(true), lora, 7, sharded.groups()));
      auto& group = *sharded.groups().back();
      group.wait_unshard();
      parts[static_cast<std::size_t>(comm.rank())] = group.params()[0].detach().clone();
      EXPECT_TRUE(group.params()[1].equal(at::zeros_like(group.params()[1])));
    });
    return parts[0];
  };
  const at::Tensor one = whole_of(1);
  EXPECT_TRUE(one.equal(whole_of(4)));
  EXPECT_LE(one.abs().max().item<double>(), 1 / std::sqrt(15.0));
  EXPECT_GT(one.std().item<double>(), 0.4 / std::sqrt(15.0));
}

}  // namespace
}  // namespace fx::engine
