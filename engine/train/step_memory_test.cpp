// Bytes of tensors that a rank holds at most in each phase of a step, against the bounds that PyTorch asserts of FSDP2.
// P: bytes of all parameters, m: of the largest block, r: of those outside blocks, N ranks; everything in fp32.
#include <gtest/gtest.h>

#include "engine/comm/local.h"
#include "engine/train/memory_testing.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

using testing::MemoryCase;
using testing::MemoryPeaks;

ModelShape shape_of_blocks() {
  ModelShape shape;
  shape.architecture = "LlamaForCausalLM";
  shape.hidden = 256, shape.layers = 6, shape.heads = 4, shape.kv_heads = 4, shape.head_dim = 64;
  shape.intermediate = 512, shape.vocab = 500, shape.tied = false;
  return shape;
}

struct Sizes {
  double all = 0, block = 0, rest = 0;  // bytes: P, m, r
};

Sizes sizes() {
  Sizes out;
  const auto model = make_model(shape_of_blocks());
  for (const auto& group : model->groups()) {
    const double bytes = 4.0 * static_cast<double>(make_layout(group.params, 1).full_numel);
    out.all += bytes;
    if (group.name.starts_with("layer")) {
      out.block = std::max(out.block, bytes);
    } else {
      out.rest += bytes;
    }
  }
  return out;
}

MemoryCase case_of(StepPolicy policy = testing::fp32_policy()) {
  MemoryCase what;
  what.shape = shape_of_blocks(), what.policy = policy, what.fill = testing::initialise;
  return what;
}

// check(peaks) on every rank.
template <class Check>
void on_ranks(int ranks, const MemoryCase& what, const Check& check) {
  run_local_ranks(ranks, [&](Collectives& comm) { check(testing::measure_memory(comm, what)); });
}

// Exact: there is no other thread that holds a buffer of ours for a moment.
MemoryPeaks of_one_rank(const MemoryCase& what) {
  MemoryPeaks out;
  run_local_ranks(1, [&](Collectives& comm) { out = testing::measure_memory(comm, what); });
  return out;
}

constexpr double kSlack = 0.4e6;  // a block is 2.6 MB

TEST(StepMemory, StaysWithinTheBoundsOfFsdp2) {
  const Sizes s = sizes();
  ASSERT_GT(s.block, 4 * kSlack);
  for (const int ranks : {2, 4}) {
    for (const bool reshard : {true, false}) {
      for (const int recompute : {0, 1}) {
        MemoryCase what = case_of();
        what.policy.reshard_after_forward = reshard;
        what.policy.recompute_every = recompute;
        on_ranks(ranks, what, [&](const MemoryPeaks& peaks) {
          const double part = s.all / ranks, states = 2 * part;  // AdamW's, made before the first step here
          EXPECT_LE(peaks.made, part + s.block + kSlack);
          EXPECT_LE(peaks.forward, states + part + (reshard ? 3 * s.block + s.rest : s.all + s.block) + kSlack);
          EXPECT_LE(peaks.backward,
                    states + (reshard ? 2 * part + 3 * s.block + s.rest : part + s.all + 1.5 * s.block) + kSlack);
          EXPECT_LE(peaks.optimizer, 4 * part + kSlack);
          EXPECT_LE(peaks.after, 3 * part + kSlack);
          EXPECT_GE(peaks.after, 3 * part);  // the counter sees all of it
        });
      }
    }
  }
}

TEST(StepMemory, ParametersThatStayBetweenMicroBatchesAreThoseOfTheModelOnce) {
  const Sizes s = sizes();
  for (const bool reshard : {true, false}) {
    MemoryCase what = case_of();
    what.policy.reshard_after_forward = reshard;
    what.policy.reshard_after_backward = false;
    what.micro_batches = 3;
    const MemoryPeaks peaks = of_one_rank(what);
    // Weights, gradients and states; a block's new gradients with the reduction's input and output.
    EXPECT_LE(peaks.backward, 4 * s.all + s.all + 3 * s.block + kSlack);
    EXPECT_GE(peaks.backward, 4 * s.all + s.all - s.rest);
    EXPECT_LE(peaks.optimizer, 4 * s.all + kSlack);
  }
}

TEST(StepMemory, EachStageGatheredAheadIsOneBlockMore) {
  const double block = sizes().block;
  const auto peaks_at = [](std::size_t ahead) {
    MemoryCase what = case_of();
    what.policy.forward_prefetch = what.policy.backward_prefetch = ahead;
    return of_one_rank(what);
  };
  const MemoryPeaks one = peaks_at(1);
  // Without any, a block's gathered buffer and its parameters are there at once for a moment, too.
  EXPECT_NEAR(peaks_at(0).forward, one.forward, kSlack);
  for (const std::size_t ahead : {2, 3}) {
    const MemoryPeaks peaks = peaks_at(ahead);
    EXPECT_NEAR(peaks.forward - one.forward, static_cast<double>(ahead - 1) * block, kSlack) << ahead;
    EXPECT_LE(peaks.backward - one.backward, static_cast<double>(ahead - 1) * block + kSlack) << ahead;
  }
}

TEST(StepMemory, OfAFrozenBaseIsItsShardsAlone) {
  MemoryCase what = case_of(StepPolicy{});  // bf16: half the bytes
  what.lora.emplace();
  what.lora->rank = 2;
  const Sizes s = sizes();
  const double adapters = 4.0 * static_cast<double>(adapter_parameter_count(shape_of_blocks(), *what.lora));
  on_ranks(2, what, [&](const MemoryPeaks& peaks) {
    EXPECT_LE(peaks.after, s.all / 4 + 3 * adapters / 2 + kSlack);
    EXPECT_GE(peaks.after, s.all / 4);
    EXPECT_LE(peaks.backward, s.all / 4 + 3 * s.block / 2 + s.rest / 2 + 4 * adapters + kSlack);
  });
}

}  // namespace
}  // namespace fx::engine
