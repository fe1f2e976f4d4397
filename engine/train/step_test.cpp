#include "engine/train/step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>

#include "engine/comm/local.h"
#include "engine/train/optimizer.h"

namespace fx::engine {
namespace {

ModelShape tiny(bool tied) {
  ModelShape shape;
  shape.architecture = "LlamaForCausalLM";
  shape.hidden = 15, shape.layers = 3, shape.heads = 3, shape.kv_heads = 1, shape.head_dim = 6;
  shape.intermediate = 7, shape.vocab = 17, shape.tied = tied;  // odd sizes: uneven shards everywhere
  return shape;
}

// The same weights whatever the number of ranks: generated whole, each rank keeps its rows.
void initialise(ShardedModel& sharded) {
  std::int64_t seed = 0;
  for (auto& group : sharded.groups()) {
    for (std::size_t i = 0; i < group->layout().params.size(); ++i) {
      const ParamLayout& param = group->layout().params[i];
      at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(++seed));
      at::Tensor whole = at::randn({param.def.shape[0], param.row_size}, generator, at::kFloat) * 0.3;
      if (param.def.shape.size() == 1) whole = whole + 1;
      const RowRange rows = rows_of(param.def.shape[0], sharded.comm().rank(), sharded.comm().size());
      group->rows_view(group->master(), i).copy_(whole.narrow(0, rows.begin, rows.count()));
    }
  }
}

// Pack p of a step: two documents, some labels masked.
Batch make_batch(int step, int pack) {
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(1000 + step * 64 + pack));
  Batch batch;
  batch.tokens = at::randint(0, 17, {9 + pack}, generator, at::kLong);
  batch.labels = at::randint(0, 17, {9 + pack}, generator, at::kLong);
  batch.labels.narrow(0, 0, 1 + pack % 3).fill_(-100);
  batch.starts = {0, 4, 9 + pack};
  batch.positions = at::cat({at::arange(4), at::arange(5 + pack)});
  return batch;
}

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  CommStats stats;
};

constexpr int kPacks = 6;  // a step, over all ranks: divides by 1, 2 and 3

Outcome train(int ranks, const ModelShape& shape, StepPolicy policy, int steps = 10) {
  Outcome outcome;
  run_local_ranks(ranks, [&](Collectives& comm) {
    const auto model = make_model(shape);
    ShardedModel sharded(*model, policy, comm);
    initialise(sharded);
    OptimizerSpec spec;
    spec.lr = 1e-2, spec.weight_decay = 0.1;
    AdamW optimizer(spec, sharded.groups());
    for (int step = 0; step < steps; ++step) {
      double valid = 0;
      for (int p = 0; p < kPacks; ++p) valid += (make_batch(step, p).labels >= 0).sum().item<double>();
      double loss = 0;
      for (int p = comm.rank(); p < kPacks; p += ranks) {
        loss += sharded.accumulate(make_batch(step, p), static_cast<float>(1 / valid));
      }
      at::Tensor total = at::tensor({loss}, at::kDouble);
      comm.all_reduce_sum("loss", total);
      const double norm = clip_gradients(sharded.groups(), 1.0, comm);
      optimizer.step(spec.lr);
      if (comm.rank() == 0) {
        outcome.losses.push_back(total.item<double>() / valid);
        outcome.norms.push_back(norm);
      }
    }
    if (comm.rank() == 0) outcome.stats = comm.stats();
  });
  return outcome;
}

StepPolicy fp32_policy() {
  StepPolicy policy;
  policy.precision = {at::kFloat, at::kFloat};
  return policy;
}

void expect_close(const Outcome& a, const Outcome& b, double tolerance) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    EXPECT_NEAR(a.losses[i], b.losses[i], tolerance * std::abs(a.losses[i])) << "step " << i;
    EXPECT_NEAR(a.norms[i], b.norms[i], 10 * tolerance * std::abs(a.norms[i])) << "step " << i;
  }
}

TEST(Step, GivesTheSameLossesForAnyNumberOfRanks) {
  for (const bool tied : {true, false}) {
    const Outcome one = train(1, tiny(tied), fp32_policy());
    EXPECT_LT(one.losses.back(), one.losses.front());
    for (const int ranks : {2, 3}) expect_close(one, train(ranks, tiny(tied), fp32_policy()), 1e-5);
  }
}

TEST(Step, KeepingOrRecomputingChangesNoNumber) {
  const Outcome base = train(2, tiny(true), fp32_policy());
  StepPolicy keep = fp32_policy();
  keep.reshard_after_forward = false;
  EXPECT_EQ(base.losses, train(2, tiny(true), keep).losses);
  StepPolicy recompute = fp32_policy();
  recompute.checkpoint_activations = true;
  EXPECT_EQ(base.losses, train(2, tiny(true), recompute).losses);
}

TEST(Step, RerunIsBitIdentical) {
  EXPECT_EQ(train(3, tiny(false), fp32_policy()).losses, train(3, tiny(false), fp32_policy()).losses);
}

TEST(Step, Bf16FollowsFp32WithinItsPrecision) {
  const Outcome exact = train(2, tiny(true), fp32_policy(), 5);
  const Outcome low = train(2, tiny(true), StepPolicy{}, 5);
  expect_close(exact, low, 2e-2);
}

TEST(Step, GathersAndReducesAsOftenAsTheFormulaSays) {
  const ModelShape shape = tiny(true);
  const int micro_batches = kPacks / 2;
  const auto per_step = [&](bool reshard) {
    StepPolicy policy = fp32_policy();
    policy.reshard_after_forward = reshard;
    const auto calls = [&](int steps) { return train(2, shape, policy, steps).stats.calls; };
    return calls(2) - calls(1);
  };
  // Tied: blocks and one root group. Forward L + 1 gathers, backward L more when blocks are freed, L + 1 reductions,
  // and two all-reduces a step (loss, norm).
  EXPECT_EQ(per_step(true), micro_batches * (3 * shape.layers + 2) + 2);
  EXPECT_EQ(per_step(false), micro_batches * (2 * shape.layers + 2) + 2);
}

}  // namespace
}  // namespace fx::engine
