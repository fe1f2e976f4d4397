#include "base/line_diff.h"

#include <gtest/gtest.h>

namespace fx {
namespace {

TEST(LineDiff, EqualTextsHaveNone) {
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n", "x", "y"), "");
  EXPECT_EQ(unified_diff("", "", "x", "y"), "");
}

TEST(LineDiff, ShowsAChangeWithThreeLinesAround) {
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "a", "b"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(LineDiff, FarChangesAreTwoHunks) {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 2 ? "two" : i == 18 ? "eighteen" : std::to_string(i)) + "\n";
  }
  const std::string diff = unified_diff(before, after, "a", "b");
  EXPECT_NE(diff.find("@@ -1,5 +1,5 @@"), std::string::npos) << diff;
  EXPECT_NE(diff.find("@@ -15,6 +15,6 @@"), std::string::npos) << diff;
}

TEST(LineDiff, SaysWhereALineEndIsMissing) {
  EXPECT_EQ(unified_diff("a\nb", "a\nb\nc\n", "x", "y"),
            "--- x\n+++ y\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n");
}

TEST(LineDiff, AddsToAndEmptiesAText) {
  EXPECT_EQ(unified_diff("", "a\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n");
  EXPECT_EQ(unified_diff("a\n", "", "x", "y"), "--- x\n+++ y\n@@ -1 +0,0 @@\n-a\n");
}

}  // namespace
}  // namespace fx
