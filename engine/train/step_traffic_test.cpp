// Numbers and bytes of collectives, against the formulas of FSDP2: gathers of all groups in the forward, of the blocks
// again in the backward when they are freed in between, and one reduction of every group.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/comm/local.h"
#include "engine/lora/adapted_model.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

struct Traffic {
  std::int64_t calls = 0, bytes = 0;
  bool operator==(const Traffic&) const = default;
};

struct Case {
  int ranks = 2;
  bool tied = true;
  StepPolicy policy = testing::fp32_policy();
  std::function<bool(const std::string&)> frozen = [](const std::string&) { return false; };
  const LoraSpec* adapters = nullptr;  // instead of frozen
  int micro_batches = 1;
};

std::unique_ptr<Model> model_of(const Case& c) {
  const ModelShape shape = testing::tiny(c.tied);
  if (c.adapters != nullptr) return std::make_unique<AdaptedModel>(make_model(shape), shape, *c.adapters);
  return std::make_unique<testing::FrozenModel>(make_model(shape), c.frozen);
}

// What one step sends from rank 0.
Traffic measure(const Case& c) {
  Traffic out;
  run_local_ranks(c.ranks, [&](Collectives& comm) {
    const auto model = model_of(c);
    ShardedModel sharded(*model, c.policy, comm);
    testing::initialise(sharded);
    for (int m = 0; m < c.micro_batches; ++m) {
      sharded.accumulate(testing::make_batch(m, comm.rank()), 1.0f, GradientSync::kFull, m + 1 == c.micro_batches);
    }
    if (comm.rank() == 0) out = {sharded.mesh().stats().calls, sharded.mesh().stats().bytes_sent};
  });
  return out;
}

bool is_block(const GroupDef& group) {
  return group.name.find("layer") == 0;
}

std::int64_t padded(const GroupDef& group, int ranks, bool trainable_only) {
  std::int64_t sum = 0;
  for (const auto& param : group.params) {
    std::int64_t row = 1;
    for (std::size_t d = 1; d < param.shape.size(); ++d) row *= param.shape[d];
    if (param.trainable || !trainable_only) sum += (param.shape[0] + ranks - 1) / ranks * row;
  }
  return sum;  // a rank's part
}

// Still full when the next micro-batch begins: what the backward gathered or the forward left.
bool is_kept(const Case& c, const GroupDef& group) {
  const bool only_forward = group.name == "embedding" && !c.tied && c.policy.reshard_after_forward;
  return !c.policy.reshard_after_backward && !only_forward;
}

// (N - 1) parts of every gather and of every reduction leave a rank.
Traffic formula(const Case& c, std::int64_t param_bytes, std::int64_t reduce_bytes, int micro_batch = 0) {
  const auto model = model_of(c);
  Traffic out;
  for (const auto& group : model->groups()) {
    const std::int64_t gathered = padded(group, c.ranks, false) * param_bytes * (c.ranks - 1);
    if (micro_batch == 0 || !is_kept(c, group)) out.calls += 1, out.bytes += gathered;  // forward
    if (is_block(group) && c.policy.reshard_after_forward) {
      const int k = c.policy.keep_slice_ranks;
      out.calls += 1, out.bytes += k == 0 ? gathered : padded(group, k, false) * param_bytes * (k - 1);
    }
    const std::int64_t reduced = padded(group, c.ranks, true) * reduce_bytes * (c.ranks - 1);
    if (reduced > 0) out.calls += 1, out.bytes += reduced;
  }
  if (micro_batch + 1 == c.micro_batches) return out;
  const Traffic rest = formula(c, param_bytes, reduce_bytes, micro_batch + 1);
  return {out.calls + rest.calls, out.bytes + rest.bytes};
}

TEST(Traffic, IsWhatTheFormulaSaysForEveryReshardPolicy) {
  for (const int ranks : {2, 3, 4}) {
    for (const bool tied : {true, false}) {
      for (const bool reshard : {true, false}) {
        Case c{ranks, tied};
        c.policy.reshard_after_forward = reshard;
        EXPECT_EQ(measure(c), formula(c, 4, 4)) << ranks << tied << reshard;
        c.policy.precision.param_dtype = at::kBFloat16;
        EXPECT_EQ(measure(c), formula(c, 2, 4)) << ranks << tied << reshard;
        c.policy.precision.reduce_dtype = at::kBFloat16;
        EXPECT_EQ(measure(c), formula(c, 2, 2)) << ranks << tied << reshard;
      }
    }
  }
}

TEST(Traffic, OfASliceIsAmongItsRanksOnlyInTheBackward) {
  Case c{4, false};
  c.policy.keep_slice_ranks = 2;
  EXPECT_EQ(measure(c), formula(c, 4, 4));
  EXPECT_LT(measure(c).bytes, measure(Case{4, false}).bytes);
}

TEST(Traffic, OfMicroBatchesThatKeepTheirParametersHasFewerGathers) {
  for (const bool tied : {true, false}) {
    for (const bool reshard : {true, false}) {
      for (const bool free : {true, false}) {
        Case c{3, tied};
        c.policy.reshard_after_forward = reshard;
        c.policy.reshard_after_backward = free;
        c.micro_batches = 4;
        EXPECT_EQ(measure(c), formula(c, 4, 4)) << tied << reshard << free;
      }
    }
  }
  // All parameters once a step; the blocks' once a micro-batch.
  Case c{2, false};
  c.micro_batches = 4, c.policy.reshard_after_forward = c.policy.reshard_after_backward = false;
  EXPECT_EQ(measure(c).calls, 5 + 4 * 5);
  c.policy.reshard_after_forward = true;
  EXPECT_EQ(measure(c).calls, (5 + 3 * 1) + 4 * 3 + 4 * 5);
}

TEST(Traffic, OfAdaptersThatAreKeptIsOneGatherAStep) {
  LoraSpec lora;
  lora.rank = 5;
  Case c{3, true};
  c.adapters = &lora, c.micro_batches = 3, c.policy.reshard_after_backward = false;
  EXPECT_EQ(measure(c), formula(c, 4, 4));
}

TEST(Traffic, HowManyAreGatheredAheadIsNoMatter) {
  for (const std::size_t ahead : {0, 2, 7}) {
    Case c{3, false};
    c.policy.forward_prefetch = c.policy.backward_prefetch = ahead;
    EXPECT_EQ(measure(c), formula(c, 4, 4));
  }
}

TEST(Traffic, RecomputingGathersNothingMore) {
  Case c{2, true};
  const Traffic plain = measure(c);
  for (const int every : {1, 2}) {
    c.policy.recompute_every = every;
    EXPECT_EQ(measure(c), plain);
  }
}

TEST(Traffic, OnlyTrainableParametersAreReduced) {
  Case c{3, false};
  c.frozen = [](const std::string& name) { return name.find("norm") != std::string::npos; };
  EXPECT_EQ(measure(c), formula(c, 4, 4));
  EXPECT_EQ(measure(c).calls, measure(Case{3, false}).calls);
}

TEST(Traffic, StagesBelowTheFirstTrainableOneHaveNoBackward) {
  Case c{2, false};
  c.frozen = [](const std::string& name) { return name.find("layers.2") == std::string::npos; };
  // Five groups forward; the last block, and nothing else, again in the backward and in the reduction.
  EXPECT_EQ(measure(c).calls, 5 + 1 + 1);
}

TEST(Traffic, OfCopiesAddsOneAllReduceAGroup) {
  Case c{4, true};
  const std::int64_t calls = measure(c).calls;
  c.policy.replicate = 2;
  EXPECT_EQ(measure(c).calls, calls + 4);
}

TEST(Traffic, OfAdaptersIsOneGatherAndOneReductionAndTheBaseIsOnlyGathered) {
  LoraSpec lora;
  lora.rank = 5;
  for (const int ranks : {2, 3, 4}) {
    for (const bool tied : {true, false}) {
      for (const bool reshard : {true, false}) {
        Case c{ranks, tied};
        c.policy.reshard_after_forward = reshard;
        c.policy.precision.param_dtype = at::kBFloat16;
        c.adapters = &lora;
        EXPECT_EQ(measure(c), formula(c, 2, 4)) << ranks << tied << reshard;
        std::int64_t base_calls = 4 + (tied ? 0 : 1) + (reshard ? 3 : 0), base_bytes = 0, rows = 0;
        const auto plain = make_model(testing::tiny(tied));
        for (const auto& group : plain->groups()) {
          base_bytes += padded(group, ranks, false) * 2 * (ranks - 1) * (is_block(group) && reshard ? 2 : 1);
        }
        for (const auto& adapter : adapters_of(testing::tiny(tied), lora)) {
          rows += (5 + ranks - 1) / ranks * adapter.a.shape[1] + (adapter.b.shape[0] + ranks - 1) / ranks * 5;
        }
        EXPECT_EQ(measure(c).calls, base_calls + 2);
        EXPECT_EQ(measure(c).bytes, base_bytes + rows * (2 + 4) * (ranks - 1));
      }
    }
  }
}

}  // namespace
}  // namespace fx::engine
