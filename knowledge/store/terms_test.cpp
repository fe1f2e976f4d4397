#include "knowledge/store/terms.h"

#include <gtest/gtest.h>

namespace fx::knowledge {
namespace {

TEST(Terms, KeepsIdentifiersWholeAndSplitsThem) {
  EXPECT_EQ(term_text("--fsdp-cpu-offload"), "fsdpcpuoffload fsdp cpu offload");
  EXPECT_EQ(term_text("fsdp_cpu_offload"), "fsdpcpuoffload fsdp cpu offload");
  EXPECT_EQ(term_text("UpdateWeightFromTensor"), "updateweightfromtensor update weight from tensor");
  EXPECT_EQ(term_text("FSDP2 hangs."), "fsdp2 fsdp hangs");
}

TEST(Terms, FoldsDiacritics) {
  EXPECT_EQ(term_text("Hvad gør træning på Å?"), "hvad gor traening pa a");
  EXPECT_EQ(fold_phrase("Fine-Tuning på  GPU"), " fine tuning pa gpu ");
}

TEST(Terms, IndexesChineseAsPairs) {
  EXPECT_EQ(term_text("FSDP显存不足"), "fsdp 显存 存不 不足");
  EXPECT_EQ(term_text("卡"), "卡");
}

TEST(Terms, AcceptsAnyBytes) {
  for (int first = 0; first < 256; ++first) {
    const std::string text = {static_cast<char>(first), static_cast<char>(255 - first), 'a', static_cast<char>(first)};
    for (const auto& term : terms(text)) EXPECT_EQ(term.find_first_of("\"' *()"), std::string::npos);
  }
}

}  // namespace
}  // namespace fx::knowledge
