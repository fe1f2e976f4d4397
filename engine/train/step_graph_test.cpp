// Models that are more than a chain of blocks that are each used once: a block used twice, one that nobody uses, one
// that some ranks leave out; and what a caller may do between steps.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/comm/local.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

using testing::expect_close;
using testing::fp32_policy;
using testing::FrozenModel;
using testing::Outcome;
using testing::train;
using testing::Training;

bool none(const std::string&) {
  return false;
}

// Layers 0, 1 and 0 again; layer 2 is in no stage.
class LoopedModel : public FrozenModel {
 public:
  LoopedModel() : FrozenModel(make_model(testing::tiny(false)), none), stages_(FrozenModel::stages()) {
    stages_[3] = stages_[1];
  }
  const std::vector<StageDef>& stages() const override { return stages_; }

 private:
  std::vector<StageDef> stages_;
};

template <class M>
Training on(int ranks, StepPolicy policy = fp32_policy()) {
  Training training;
  training.ranks = ranks, training.policy = policy;
  training.packs = 12, training.steps = 4;
  training.make = [] { return std::make_unique<M>(); };
  return training;
}

TEST(StepGraph, ABlockUsedTwiceTrainsAlikeOnAnyNumberOfRanksAndPolicy) {
  const Outcome one = train(on<LoopedModel>(1));
  for (const int ranks : {2, 3, 4}) expect_close(one, train(on<LoopedModel>(ranks)), 1e-5);
  StepPolicy keep = fp32_policy(), recompute = fp32_policy();
  keep.reshard_after_forward = false, recompute.recompute_every = 1;
  const Outcome two = train(on<LoopedModel>(2));
  EXPECT_EQ(two.losses, train(on<LoopedModel>(2, keep)).losses);
  EXPECT_EQ(two.losses, train(on<LoopedModel>(2, recompute)).losses);
}

TEST(StepGraph, TheGradientOfABlockUsedTwiceIsThatOfTheLoss) {
  run_local_ranks(1, [](Collectives& comm) {
    const LoopedModel model;
    ShardedModel sharded(model, fp32_policy(), comm);
    testing::initialise(sharded);
    const Batch batch = testing::make_batch(0, 3);
    sharded.accumulate(batch, 1.0f);
    ParamGroup& twice = *sharded.groups()[1];
    const at::Tensor direction = twice.grad() / twice.grad().norm();
    const double step = 2e-3;
    const auto loss_at = [&](double distance) {
      const at::Tensor before = twice.master().clone();
      twice.master().add_(direction, distance);
      const double loss = sharded.evaluate(batch);
      twice.master().copy_(before);
      return loss;
    };
    const double slope = (loss_at(step) - loss_at(-step)) / (2 * step), norm = twice.grad().norm().item<double>();
    EXPECT_NEAR(slope, norm, 0.02 * norm);
  });
}

TEST(StepGraph, ABlockThatNoStageUsesIsNeitherGatheredNorTrained) {
  run_local_ranks(2, [](Collectives& comm) {
    const LoopedModel model;
    ShardedModel sharded(model, fp32_policy(), comm);
    testing::initialise(sharded);
    AdamW optimizer({}, sharded.groups());
    ParamGroup& unused = *sharded.groups()[3];
    const at::Tensor before = unused.master().clone();
    sharded.accumulate(testing::make_batch(0, comm.rank()), 1.0f);
    EXPECT_FALSE(unused.grad().defined());
    optimizer.step(0.1);
    EXPECT_TRUE(unused.master().equal(before));
    // Embedding, three blocks, head; the blocks again, of which the one used twice stays for its other use; four
    // groups reduced, each once.
    EXPECT_EQ(comm.stats().calls, 5 + 2 + 4);
  });
}

// Leaves a pack's second block out when the pack says so: the same packs on any number of ranks.
class SkippingModel : public FrozenModel {
 public:
  SkippingModel() : FrozenModel(make_model(testing::tiny(true)), none) {}
  at::Tensor embed(const StageParams& params, const Batch& batch) const override {
    block_ = 0;
    return FrozenModel::embed(params, batch);
  }
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override {
    const bool skip = ++block_ == 2 && batch.tokens[0].item<std::int64_t>() % 2 == 0;
    return skip ? x.mul(1.0) : FrozenModel::block(params, x, batch);
  }

 private:
  mutable int block_ = 0;  // one thread a rank, and forward only
};

TEST(StepGraph, ParametersThatSomeRanksDidNotUseCountAsZeroThere) {
  const Outcome one = train(on<SkippingModel>(1));
  for (const int ranks : {2, 3, 4}) expect_close(one, train(on<SkippingModel>(ranks)), 1e-5);
  Training held = on<SkippingModel>(2);
  held.early = GradientSync::kNone;
  expect_close(one, train(held), 1e-5);
}

// Losses of three steps; between is called before each.
std::vector<double> losses_with(const std::function<void(ShardedModel&, int step)>& between) {
  std::vector<double> out;
  run_local_ranks(2, [&](Collectives& comm) {
    const auto model = make_model(testing::tiny(true));
    ShardedModel sharded(*model, fp32_policy(), comm);
    testing::initialise(sharded);
    AdamW optimizer({}, sharded.groups());
    for (int step = 0; step < 3; ++step) {
      between(sharded, step);
      const double loss = sharded.accumulate(testing::make_batch(step, comm.rank()), 0.1f);
      optimizer.step(1e-2);
      if (comm.rank() == 0) out.push_back(loss);
    }
  });
  return out;
}

TEST(StepGraph, EvaluationBetweenStepsChangesNothing) {
  const auto plain = losses_with([](ShardedModel&, int) {});
  EXPECT_EQ(plain, losses_with([](ShardedModel& sharded, int step) {
              EXPECT_GT(sharded.evaluate(testing::make_batch(step, 5)), 0);
              for (auto& group : sharded.groups()) EXPECT_FALSE(group->is_full());
            }));
}

TEST(StepGraph, GroupsMayBeGatheredAndFreedByHandAtAnyTime) {
  const auto plain = losses_with([](ShardedModel&, int) {});
  // Two groups ahead of the schedule, one of them waited for; one gathered and freed again.
  EXPECT_EQ(plain, losses_with([](ShardedModel& sharded, int) {
              sharded.groups()[0]->start_unshard();
              sharded.groups()[1]->start_unshard();
              sharded.groups()[0]->wait_unshard();
              sharded.groups()[2]->wait_unshard();
              sharded.groups()[2]->reshard();
            }));
}

}  // namespace
}  // namespace fx::engine
