#include "base/file.h"

#include <gtest/gtest.h>

namespace fx {
namespace {

TEST(File, AtomicWriteThenTailGivesWholeLines) {
  const auto path = std::filesystem::path(testing::TempDir()) / "fx_file_test.txt";
  ASSERT_TRUE(write_file_atomic(path, "first line\nsecond\nthird\n"));
  EXPECT_EQ(*read_tail(path, 10), "third\n");
  EXPECT_EQ(*read_file(path), "first line\nsecond\nthird\n");
  std::filesystem::remove(path);
}

TEST(File, NamesTheMissingFileAndTheLimit) {
  const auto missing = read_file("/nonexistent/x.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().field, "/nonexistent/x.yaml");
  EXPECT_EQ(stream_file(
                "/proc/self/status", [](std::string_view) {}, 10)
                .error()
                .code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(stream_file("/nonexistent/x.log", [](std::string_view) {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file("/proc/self/status", 10).error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace fx
