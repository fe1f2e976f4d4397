// Which gathers are under way when a stage computes: as many ahead as the policy says, in the order of use.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/comm/local.h"
#include "engine/train/step_testing.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

constexpr int kBlocks = 3, kStages = kBlocks + 2;

// Notes how many collectives have been started whenever a stage computes.
class WatchedModel : public testing::FrozenModel {
 public:
  explicit WatchedModel(Collectives& comm)
      : FrozenModel(make_model(testing::tiny(false)), [](const std::string&) { return false; }), comm_(comm) {}
  at::Tensor embed(const StageParams& params, const Batch& batch) const override {
    return note(), FrozenModel::embed(params, batch);
  }
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override {
    return note(), FrozenModel::block(params, x, batch);
  }
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override {
    return note(), FrozenModel::head(params, x, batch, scale, with_gradient);
  }
  const std::vector<std::int64_t>& started() const { return started_; }

 private:
  void note() const { started_.push_back(comm_.stats().calls); }
  Collectives& comm_;
  mutable std::vector<std::int64_t> started_;
};

struct Watched {
  std::vector<std::int64_t> started;  // when each stage computes: forward, then the blocks' recomputation
  std::vector<std::string> calls;     // "all_gather layer 2"
};

Watched watch(std::size_t forward, std::size_t backward) {
  StepPolicy policy = testing::fp32_policy();
  policy.forward_prefetch = forward, policy.backward_prefetch = backward;
  policy.recompute_every = 1;
  Watched out;
  run_local_ranks(2, [&](Collectives& comm) {
    const WatchedModel model(comm);
    ShardedModel sharded(model, policy, comm);
    testing::initialise(sharded);
    sharded.accumulate(testing::make_batch(0, comm.rank()), 1.0f);
    if (comm.rank() != 0) return;
    out.started = model.started();
    const Json record = *parse_json(comm.recorder().dump("test"));
    for (const auto& entry : record["entries"]) {
      const auto name = entry["profiling_name"].get<std::string>();
      out.calls.push_back(name.substr(name.find(':') + 1) + " " + entry["stage"].get<std::string>());
    }
  });
  return out;
}

TEST(StepPrefetch, AsManyGathersAreAheadAsThePolicySays) {
  for (int forward = 0; forward <= kStages; ++forward) {
    for (int backward = 0; backward <= kBlocks; ++backward) {
      std::vector<std::int64_t> expected;
      for (int stage = 0; stage < kStages; ++stage) expected.push_back(std::min(stage + 1 + forward, kStages));
      // The head's reduction, and one for each block that is done, are started too.
      for (int done = 0; done < kBlocks; ++done)
        expected.push_back(kStages + std::min(done + 1 + backward, kBlocks) + 1 + done);
      EXPECT_EQ(watch(static_cast<std::size_t>(forward), static_cast<std::size_t>(backward)).started, expected)
          << forward << " forward, " << backward << " backward";
    }
  }
}

TEST(StepPrefetch, GathersComeInTheOrderOfUseBetweenTheReductions) {
  const std::vector<std::string> forward = {"all_gather embedding", "all_gather layer 0", "all_gather layer 1",
                                            "all_gather layer 2", "all_gather head"};
  const std::vector<std::vector<std::string>> backward = {
      {"reduce_scatter head", "all_gather layer 2", "reduce_scatter layer 2", "all_gather layer 1",
       "reduce_scatter layer 1", "all_gather layer 0", "reduce_scatter layer 0", "reduce_scatter embedding"},
      {"all_gather layer 2", "reduce_scatter head", "all_gather layer 1", "reduce_scatter layer 2",
       "all_gather layer 0", "reduce_scatter layer 1", "reduce_scatter layer 0", "reduce_scatter embedding"},
      {"all_gather layer 2", "all_gather layer 1", "reduce_scatter head", "all_gather layer 0",
       "reduce_scatter layer 2", "reduce_scatter layer 1", "reduce_scatter layer 0", "reduce_scatter embedding"}};
  for (std::size_t ahead = 0; ahead < backward.size(); ++ahead) {
    std::vector<std::string> expected = forward;
    expected.insert(expected.end(), backward[ahead].begin(), backward[ahead].end());
    EXPECT_EQ(watch(ahead, ahead).calls, expected) << ahead;
  }
}

}  // namespace
}  // namespace fx::engine
