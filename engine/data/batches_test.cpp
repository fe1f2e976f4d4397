#include "engine/data/batches.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "engine/data/shuffle.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;

TEST(BatchPlan, GlobalBatchIsTheSameForAnyRankCount) {
  for (std::int64_t ranks = 1; ranks <= 5; ++ranks) {
    for (std::int64_t per_micro = 1; per_micro <= 3; ++per_micro) {
      const BatchPlan one(23, {1, 7, 1, 5}), many(23, {ranks, 7, per_micro, 5});
      for (std::int64_t step = 0; step < 10; ++step) {
        std::vector<std::int64_t> computed;
        for (std::int64_t micro = 0; micro < many.micro_batches(step); ++micro) {
          for (std::int64_t rank = 0; rank < ranks; ++rank) {
            const auto packs = many.packs_of(step, micro, rank);
            EXPECT_LE(static_cast<std::int64_t>(packs.size()), per_micro);
            computed.insert(computed.end(), packs.begin(), packs.end());
          }
        }
        auto expected = one.packs_of_step(step);
        std::sort(expected.begin(), expected.end());
        std::sort(computed.begin(), computed.end());
        EXPECT_EQ(computed, expected);
      }
    }
  }
}

TEST(BatchPlan, EachEpochShowsEveryPackOnceInAnOrderOfItsOwn) {
  BatchPlan plan(12, {2, 4, 1, 9});
  std::vector<std::vector<std::int64_t>> epochs(2);
  for (std::int64_t step = 0; step < 6; ++step) {
    const auto packs = plan.packs_of_step(step);
    auto& epoch = epochs[static_cast<std::size_t>(plan.epoch_of(step))];
    epoch.insert(epoch.end(), packs.begin(), packs.end());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  std::vector<std::int64_t> all(12);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, all);
  }
}

TEST(BatchPlan, LastStepOfWholeEpochsIsSmaller) {
  BatchPlan plan(10, {2, 4, 1, 0});
  EXPECT_EQ(plan.steps_for_epochs(1), 3);
  plan.end_after_epochs(1);
  EXPECT_EQ(plan.packs_of_step(2).size(), 2u);
}

// What dynamic batching promises, over random documents, ranks and budgets.
TEST(BatchPlan, DynamicMicroBatchesHoldEveryDocumentOnceWithinTheBudget) {
  SplitMix random(5);
  for (int round = 0; round < 200; ++round) {
    const auto budget = static_cast<std::int64_t>(50 + random.below(200));
    const auto ranks = static_cast<std::int64_t>(1 + random.below(6)),
               batch = static_cast<std::int64_t>(1 + random.below(40));
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < 60; ++i) lengths.push_back(static_cast<std::int64_t>(1 + random.below(50)));
    const BatchPlan plan(lengths, {ranks, batch, 1, 9, budget});
    for (std::int64_t step = 0; step < 4; ++step) {
      std::vector<std::int64_t> computed, tokens_of_rank(static_cast<std::size_t>(ranks));
      for (std::int64_t micro = 0; micro < plan.micro_batches(step); ++micro) {
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          std::int64_t tokens = 0;
          for (const auto pack : plan.packs_of(step, micro, rank)) {
            computed.push_back(pack);
            tokens += lengths[static_cast<std::size_t>(pack)];
          }
          EXPECT_LE(tokens, budget);
          tokens_of_rank[static_cast<std::size_t>(rank)] += tokens;
        }
      }
      auto expected = plan.packs_of_step(step);
      const std::int64_t in_all = std::accumulate(tokens_of_rank.begin(), tokens_of_rank.end(), std::int64_t{0});
      std::sort(expected.begin(), expected.end());
      std::sort(computed.begin(), computed.end());
      EXPECT_EQ(computed, expected);
      const auto [least, most] = std::minmax_element(tokens_of_rank.begin(), tokens_of_rank.end());
      EXPECT_LE(*most - *least, 50) << "no rank has a longest document more than another";
      // No more micro-batches than half-full ones would make.
      EXPECT_LE(plan.micro_batches(step), 1 + 2 * (in_all / ranks + 50) / budget);
    }
  }
}

TEST(BatchPlan, DynamicStepsAreTheSameDocumentsForAnyRankCount) {
  const std::vector<std::int64_t> lengths = {9, 3, 7, 1, 8, 2, 6, 5, 4};
  const BatchPlan one(lengths, {1, 5, 1, 3, 10});
  for (std::int64_t ranks = 2; ranks <= 4; ++ranks) {
    const BatchPlan many(lengths, {ranks, 5, 1, 3, 10});
    for (std::int64_t step = 0; step < 6; ++step) EXPECT_EQ(one.packs_of_step(step), many.packs_of_step(step));
  }
}

TEST(MicroBatch, RestartsPositionsInEachDocumentAndMasks) {
  const fs::path path = fs::temp_directory_path() / ("fx_batches_" + std::to_string(::getpid()));
  ASSERT_TRUE(
      write_token_file(path, 10, {plain_document({1, 2, 3}), plain_document({4, 5}), plain_document({9, 9, 9, 9})}));
  const auto file = TokenFile::open(path);
  fs::remove(path);
  const PackPlan plan{{{{0, 0, 3}, {1, 0, 2}}, {{2, 0, 3}}}, 3, 8, 1, 0, 0};
  const auto batch = make_micro_batch(*file, plan, {0, 1}, 10);
  ASSERT_TRUE(batch) << to_line(batch.error());
  EXPECT_EQ(batch->ids, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 9, 9, 9}));
  EXPECT_EQ(batch->labels, (std::vector<std::int64_t>{2, 3, -100, 5, -100, 9, 9, 9}));
  EXPECT_EQ(batch->positions, (std::vector<std::int64_t>{0, 1, 2, 0, 1, 0, 1, 2}));
  EXPECT_EQ(batch->document_offsets, (std::vector<std::int64_t>{0, 3, 5, 8}));
  EXPECT_EQ(batch->trained, 6);
  EXPECT_EQ(trained_tokens(*file, plan, {0, 1}), 6);
  const auto small = make_micro_batch(*file, plan, {1}, 9);
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().message.find("document 2 holds id 9"), std::string::npos);
  const auto dummy = make_micro_batch(*file, plan, {}, 10);
  EXPECT_EQ(dummy->trained, 0);
  EXPECT_EQ(dummy->ids.size(), 1u);
}

}  // namespace
}  // namespace fx::engine
