#include "engine/data/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/data/shuffle.h"

namespace fx::engine {
namespace {

std::vector<std::int64_t> sums_of(const std::vector<std::int64_t>& weights,
                                  const std::vector<std::vector<std::size_t>>& parts) {
  std::vector<std::int64_t> sums;
  for (const auto& part : parts) {
    sums.push_back(0);
    for (const auto i : part) sums.back() += weights[i];
  }
  return sums;
}

TEST(Balance, FindsThePerfectSplitOfTheTextbookExample) {
  const std::vector<std::int64_t> weights = {4, 5, 6, 7, 8};
  const auto sums = sums_of(weights, balance(weights, 2));
  EXPECT_EQ(sums, (std::vector<std::int64_t>{16, 14}));  // differencing gives 2; greedy longest-first gives 17 and 13
}

TEST(Balance, GivesEveryIndexToOnePartAndNoPartMuchMoreThanAnother) {
  SplitMix random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = random.below(60), parts = 1 + random.below(8);
    std::vector<std::int64_t> weights;
    for (std::size_t i = 0; i < count; ++i) weights.push_back(static_cast<std::int64_t>(1 + random.below(1000)));
    const auto split = balance(weights, parts);
    ASSERT_EQ(split.size(), parts);
    std::vector<std::size_t> seen;
    for (const auto& part : split) {
      EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
      seen.insert(seen.end(), part.begin(), part.end());
    }
    std::sort(seen.begin(), seen.end());
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_EQ(seen, all);
    const auto sums = sums_of(weights, split);
    EXPECT_TRUE(std::is_sorted(sums.rbegin(), sums.rend()));
    const std::int64_t heaviest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
    EXPECT_LE(sums.front() - sums.back(), heaviest);
    EXPECT_EQ(split, balance(weights, parts));
  }
}

TEST(Balance, WithAsManyPartsAsThingsEachIsAlone) {
  for (const auto& part : balance({9, 1, 5, 5, 3}, 5)) EXPECT_EQ(part.size(), 1u);
  const auto split = balance({2, 1}, 4);
  EXPECT_EQ(split[0], (std::vector<std::size_t>{0}));
  EXPECT_EQ(split[1], (std::vector<std::size_t>{1}));
  EXPECT_TRUE(split[2].empty() && split[3].empty());
}

}  // namespace
}  // namespace fx::engine
