#include "tools/diagnosis_text.h"

#include <gtest/gtest.h>

#include <array>

#include "knowledge/causes/diagnose.h"

namespace fx::tools {
namespace {

std::string render(const char* log, bool color) {
  const std::array<knowledge::NamedLog, 1> logs{knowledge::NamedLog{"", log}};
  const auto scene = knowledge::read_scene(logs);
  DiagnosisStyle style;
  style.color = color;
  return diagnosis_text(knowledge::diagnose(scene), scene, style);
}

constexpr const char* kLog =
    "[rank1]: step 7 loss 2.0\n"
    "[rank1]:     loss.backward()\n"
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 1 has a total capacity of "
    "39.00 GiB of which "
    "0.50 GiB is free. Of the allocated memory 37.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by "
    "PyTorch but unallocated.\n"
    "[E ProcessGroupNCCL.cpp:456] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, "
    "OpType=_ALLGATHER_BASE, "
    "NumelIn=5, NumelOut=20, Timeout(ms)=1800000) ran for 1800212 milliseconds before timing out.\n";

TEST(DiagnosisText, GivesTheAnswerFirstAndATimelinePerRank) {
  const auto text = render(kLog, false);
  EXPECT_EQ(text.rfind("gpu-oom-activations", 0), 0U) << text;
  EXPECT_NE(text.find("rank 0: waited in vain in _ALLGATHER_BASE number 41 (line 4)"), std::string::npos) << text;
  EXPECT_NE(text.find("<- began here"), std::string::npos) << text;
  EXPECT_LT(text.find("First step:"), text.find("Rank by rank"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(DiagnosisText, IsColouredOnlyWhenAsked) {
  EXPECT_NE(render(kLog, true).find("\x1b[31m"), std::string::npos);
  EXPECT_EQ(render("hello", false).rfind("Not applicable", 0), 0U);
}

}  // namespace
}  // namespace fx::tools
