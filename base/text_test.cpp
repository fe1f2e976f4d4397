#include "base/text.h"

#include <gtest/gtest.h>

namespace fx {
namespace {

TEST(Lines, EndAtBothKindsOfLineEnd) {
  EXPECT_EQ(split_lines("a\r\nb\n\nc"), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_TRUE(split_lines("").empty());
}

TEST(Numbers, RefuseLeftovers) {
  EXPECT_EQ(to_integer("29500"), 29500);
  EXPECT_EQ(to_integer("29500x"), std::nullopt);
  EXPECT_EQ(to_integer(""), std::nullopt);
  EXPECT_EQ(to_number("1e-4"), 1e-4);
  EXPECT_EQ(to_number("nan"), std::nullopt);
}

TEST(Nearest, FindsASlipAndLeavesStrangersAlone) {
  const std::vector<std::string> keys = {"fsdp_offload_params", "fsdp_version"};
  EXPECT_EQ(nearest("fsdp_offload_param", keys), "fsdp_offload_params");
  EXPECT_EQ(nearest("zzz", keys), std::nullopt);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(QuoteInput, RemovesWhatCouldMislead) {
  EXPECT_EQ(quote_input("a\x1b[31mred\x1b[0m\tb\nc"), "a[31mred[0m b c");
  EXPECT_EQ(quote_input("x\xE2\x80\xAE y\xE2\x80\x8Bz\xFF"), "x yz");
  EXPECT_EQ(quote_input("\xE4\xB8\xAD\xE6\x96\x87", 4), "\xE4\xB8\xAD...");
}

TEST(ValidUtf8, ReplacesBrokenBytes) {
  EXPECT_EQ(valid_utf8("a\xC3(\xE4\xB8\xAD"), "a\xEF\xBF\xBD(\xE4\xB8\xAD");
}

}  // namespace
}  // namespace fx
