// Bytes of tensors that a rank holds at most in each phase of a step, against the bounds that PyTorch asserts of FSDP2.
// P: bytes of all parameters, m: of the largest block, r: of those outside blocks, N ranks; everything in fp32.
#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/comm/local.h"
#include "engine/lora/adapted_model.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

struct Counter {
  std::atomic<std::int64_t> now{0}, peak{0};
  void add(std::int64_t bytes) {
    const std::int64_t after = now += bytes;
    std::int64_t seen = peak;
    while (after > seen && !peak.compare_exchange_weak(seen, after)) {
    }
  }
  // The most since the last call.
  std::int64_t take_peak() { return peak.exchange(now); }
};

thread_local Counter* counter_of_rank = nullptr;

// Counts what each rank's thread allocates; whoever frees it.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    auto* header = static_cast<Header*>(std::aligned_alloc(64, (bytes + sizeof(Header) + 63) / 64 * 64));
    if (header == nullptr) throw std::bad_alloc();
    *header = {static_cast<std::int64_t>(bytes), counter_of_rank};
    if (header->owner != nullptr) header->owner->add(header->bytes);
    return {header + 1, header + 1, &release, at::Device(at::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  struct alignas(64) Header {
    std::int64_t bytes;
    Counter* owner;
  };
  static void release(void* data) {
    auto* header = static_cast<Header*>(data) - 1;
    if (header->owner != nullptr) header->owner->add(-header->bytes);
    std::free(header);
  }
};

// Tensors may outlive a test: the allocator and the counters are never destroyed.
Counter& counter(int rank) {
  static auto* allocator = [] {
    auto* made = new CountingAllocator;
    c10::SetCPUAllocator(made, 200);
    return made;
  }();
  static auto* counters = new std::array<Counter, 4>;
  EXPECT_NE(allocator, nullptr);
  return counters->at(static_cast<std::size_t>(rank));
}

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

Sizes sizes_of(const Model& model) {
  Sizes out;
  for (const auto& group : model.groups()) {
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

// Forgets the peak before the head: forward and backward are told apart.
class MarkedModel : public testing::FrozenModel {
 public:
  MarkedModel(std::unique_ptr<Model> model, double& forward_peak)
      : FrozenModel(std::move(model), [](const std::string&) { return false; }), forward_peak_(forward_peak) {}
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override {
    forward_peak_ = static_cast<double>(counter_of_rank->take_peak());
    return FrozenModel::head(params, x, batch, scale, with_gradient);
  }

 private:
  double& forward_peak_;
};

// So few tokens that activations do not count: 0.1 MB in the six blocks.
Batch short_batch() {
  Batch batch;
  batch.tokens = at::tensor({3, 5}, at::kLong), batch.labels = at::tensor({5, 7}, at::kLong);
  batch.positions = at::arange(2), batch.starts = {0, 2};
  return batch;
}

struct Peaks {
  double made = 0, forward = 0, backward = 0, optimizer = 0, after = 0;
};

// Of the second step on one rank: in the first, memory for optimizer states is there too, but nothing else is new.
Peaks measure(Collectives& comm, const StepPolicy& policy, const LoraSpec* lora = nullptr) {
  Counter& mine = counter(comm.rank());
  counter_of_rank = &mine;
  mine.now = mine.peak = 0;
  Peaks out;
  {
    auto model = make_model(shape_of_blocks());
    if (lora != nullptr) model = std::make_unique<AdaptedModel>(std::move(model), shape_of_blocks(), *lora);
    double forward = 0;
    std::unique_ptr<Model> marked = std::move(model);
    if (lora == nullptr) marked = std::make_unique<MarkedModel>(std::move(marked), forward);
    ShardedModel sharded(*marked, policy, comm);
    out.made = static_cast<double>(mine.take_peak());
    testing::initialise(sharded);
    AdamW optimizer({}, sharded.groups());
    for (int step = 0; step < 2; ++step) {
      mine.take_peak();
      sharded.accumulate(short_batch(), 1.0f);
      out.forward = forward;
      out.backward = static_cast<double>(mine.take_peak());
      comm.barrier("settled");  // other threads hold no tensor of ours any more
      mine.take_peak();
      clip_gradients(sharded.groups(), 1.0, sharded.mesh());
      optimizer.step(1e-3);
      out.optimizer = static_cast<double>(mine.take_peak());
      out.after = static_cast<double>(mine.now);
    }
  }
  counter_of_rank = nullptr;
  return out;
}

constexpr double kSlack = 0.4e6;  // a block is 2.6 MB

TEST(StepMemory, StaysWithinTheBoundsOfFsdp2) {
  const Sizes s = sizes_of(*make_model(shape_of_blocks()));
  ASSERT_GT(s.block, 4 * kSlack);
  for (const int ranks : {2, 4}) {
    for (const bool reshard : {true, false}) {
      for (const int recompute : {0, 1}) {
        run_local_ranks(ranks, [&](Collectives& comm) {
          StepPolicy policy = testing::fp32_policy();
          policy.reshard_after_forward = reshard;
          policy.recompute_every = recompute;
          const Peaks peaks = measure(comm, policy);
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

TEST(StepMemory, OfAFrozenBaseIsItsShardsAlone) {
  LoraSpec lora;
  lora.rank = 2;
  run_local_ranks(2, [&](Collectives& comm) {
    const Sizes s = sizes_of(*make_model(shape_of_blocks()));
    StepPolicy policy;  // bf16: half the bytes
    const Peaks peaks = measure(comm, policy, &lora);
    const double adapters = 4.0 * static_cast<double>(adapter_parameter_count(shape_of_blocks(), lora));
    EXPECT_LE(peaks.after, s.all / 4 + 3 * adapters / 2 + kSlack);
    EXPECT_GE(peaks.after, s.all / 4);
    EXPECT_LE(peaks.backward, s.all / 4 + 3 * s.block / 2 + s.rest / 2 + 4 * adapters + kSlack);
  });
}

}  // namespace
}  // namespace fx::engine
