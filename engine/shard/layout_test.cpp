#include "engine/shard/layout.h"

#include <gtest/gtest.h>

namespace fx::engine {
namespace {

TEST(RowsOf, FollowsTheChunkRuleWithEmptyTails) {
  EXPECT_EQ(rows_of(5, 0, 4).count(), 2);
  EXPECT_EQ(rows_of(5, 2, 4).begin, 4);
  EXPECT_EQ(rows_of(5, 2, 4).count(), 1);
  EXPECT_EQ(rows_of(5, 3, 4).count(), 0);
  EXPECT_EQ(rows_of(7, 0, 1).count(), 7);
}

TEST(MakeLayout, PadsEveryParameterToTheSameRowsOnEachRank) {
  const GroupLayout layout = make_layout({{"a", {5, 3}}, {"b", {2}}}, 4);
  EXPECT_EQ(layout.params[0].padded, 6);
  EXPECT_EQ(layout.params[1].shard_offset, 6);
  EXPECT_EQ(layout.shard_numel, 7);
  EXPECT_EQ(layout.full_numel, 28);
}

TEST(MakeLayout, NamesAParameterThatCannotBeSharded) {
  EXPECT_THROW(make_layout({{"scale", {}}}, 2), std::invalid_argument);
  EXPECT_THROW(make_layout({{"empty", {0, 4}}}, 2), std::invalid_argument);
}

}  // namespace
}  // namespace fx::engine
