// What a step waits for when collectives take time: a clock that only collectives and computation advance, so that the
// figures are exact. One rank of two; its peer sends the same.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

constexpr double kCompute = 2, kCollective = 1;  // one stage forward or backward; one call

struct Clock {
  double now = 0, network_free = 0;
  double computed = 0;
  void compute() { now += kCompute, computed += kCompute; }
};

class TimedRanks : public Collectives {
 public:
  TimedRanks(Clock& clock, bool asynchronous)
      : Collectives("world", "timed", 0, {0, 1}), clock_(clock), asynchronous_(asynchronous) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::unique_ptr<Collectives> split(const std::string&, const std::vector<int>&) override {
    return std::make_unique<TimedRanks>(clock_, asynchronous_);
  }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    for (int r = 0; r < 2; ++r) out.narrow(0, r * in.numel(), in.numel()).copy_(in);
    return begin();
  }
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    out.copy_(in.narrow(0, 0, out.numel()));
    return begin();
  }
  void run_all_reduce(at::Tensor, bool) override {}

 private:
  // Calls go through one network, in order.
  Wait begin() {
    const double end = std::max(clock_.now, clock_.network_free) + kCollective;
    clock_.network_free = end;
    const auto wait = [this, end] { clock_.now = std::max(clock_.now, end); };
    if (!asynchronous_) wait();
    return wait;
  }
  Clock& clock_;
  bool asynchronous_;
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The same tensor; its backward takes as long as the stage's.
class Delayed : public torch::autograd::Function<Delayed> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, std::int64_t clock) {
    ctx->saved_data["clock"] = clock;
    return x.clone();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    reinterpret_cast<Clock*>(ctx->saved_data["clock"].toInt())->compute();
    return {grads[0], at::Tensor()};
  }
};

class TimedModel : public testing::FrozenModel {
 public:
  TimedModel(std::unique_ptr<Model> model, Clock& clock)
      : FrozenModel(std::move(model), [](const std::string&) { return false; }), clock_(clock) {}
  at::Tensor embed(const StageParams& params, const Batch& batch) const override {
    return delayed(FrozenModel::embed(params, batch));
  }
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override {
    return delayed(FrozenModel::block(params, x, batch));
  }
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override {
    clock_.compute();
    return FrozenModel::head(params, x, batch, scale, with_gradient);
  }

 private:
  at::Tensor delayed(const at::Tensor& x) const {
    clock_.compute();
    return Delayed::apply(x, reinterpret_cast<std::int64_t>(&clock_));
  }
  Clock& clock_;
};

struct Timing {
  double step = 0, computed = 0;
  double calls = 0;
};

Timing time_of(bool asynchronous, const StepPolicy& policy = testing::fp32_policy(), int micro_batches = 1) {
  Clock clock;
  TimedRanks comm(clock, asynchronous);
  const TimedModel model(make_model(testing::tiny(false)), clock);
  ShardedModel sharded(model, policy, comm);
  testing::initialise(sharded);
  for (int m = 0; m < micro_batches; ++m)
    sharded.accumulate(testing::make_batch(m, 0), 1.0f, GradientSync::kFull, m + 1 == micro_batches);
  return {clock.now, clock.computed, static_cast<double>(comm.stats().calls)};
}

TEST(StepOverlap, WithoutItAStepTakesTheSumOfAll) {
  const Timing serial = time_of(false);
  // Embedding, three blocks, head and loss; three blocks and the embedding backward.
  EXPECT_EQ(serial.computed, 9 * kCompute);
  EXPECT_EQ(serial.calls, 5 + 3 + 5);
  EXPECT_EQ(serial.step, serial.computed + serial.calls * kCollective);
}

TEST(StepOverlap, OnlyWhatNothingCanHideIsWaitedFor) {
  const Timing step = time_of(true);
  // The first gather; the last block's, which begins when the loss is known; the embedding's reduction at the end.
  EXPECT_EQ(step.step, step.computed + 3 * kCollective);
  StepPolicy keep = testing::fp32_policy();
  keep.reshard_after_forward = false;
  const Timing kept = time_of(true, keep);
  EXPECT_EQ(kept.step, kept.computed + 2 * kCollective);
}

TEST(StepOverlap, WithoutGatheringAheadEveryGatherIsWaitedFor) {
  StepPolicy none = testing::fp32_policy();
  none.forward_prefetch = none.backward_prefetch = 0;
  const Timing step = time_of(true, none);
  // Five gathers in the forward; in the backward those of the blocks, each behind a reduction; the last reduction.
  EXPECT_EQ(step.step, step.computed + (5 + 3 * 2 + 1) * kCollective);
}

TEST(StepOverlap, KeptParametersHideTheReductionBetweenMicroBatches) {
  StepPolicy policy = testing::fp32_policy();
  policy.reshard_after_forward = false;
  const Timing freed = time_of(true, policy, 2);
  policy.reshard_after_backward = false;
  const Timing kept = time_of(true, policy, 2);
  EXPECT_EQ(freed.step, freed.computed + 2 * 2 * kCollective);
  EXPECT_EQ(kept.step, kept.computed + 2 * kCollective);
}

TEST(StepOverlap, RecomputationHidesTheSameCalls) {
  StepPolicy policy = testing::fp32_policy();
  policy.recompute_every = 1;
  const Timing step = time_of(true, policy);
  EXPECT_EQ(step.computed, 12 * kCompute);
  EXPECT_EQ(step.step, step.computed + 3 * kCollective);
}

}  // namespace
}  // namespace fx::engine
