#include "base/result.h"

#include <gtest/gtest.h>

namespace fx {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 3;
  const Result<int> bad = not_found("no run r1");
  EXPECT_EQ(*good, 3);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(bad.value_or(7), 7);
  EXPECT_THROW((void)bad.value(), BadResultAccess);
}

TEST(Error, EveryCodeHasOneRowWithUsableStatuses) {
  for (const auto& row : error_codes()) {
    EXPECT_EQ(&info(row.code), &row);
    EXPECT_GE(row.http_status, 400);
    EXPECT_NE(row.exit_code, 0);
    EXPECT_LT(row.json_rpc_code, 0);
  }
}

TEST(Error, CombineKeepsEveryMistake) {
  const Error all = combine({invalid_argument("a", "bad a"), invalid_argument("b", "bad b", "use 1")});
  ASSERT_EQ(all.details.size(), 2u);
  EXPECT_EQ(all.field, "a");
  EXPECT_EQ(to_line(all.details[1]), "b: bad b (use 1)");
}

}  // namespace
}  // namespace fx
