// One log a rank: what the ranks say has no common order, and their names tell who speaks.
#include <gtest/gtest.h>

#include <vector>

#include "knowledge/causes/diagnose.h"

namespace fx::knowledge {
namespace {

const std::string kTimeout =
    "[E ProcessGroupNCCL.cpp:616] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, "
    "OpType=_ALLGATHER_BASE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600018 milliseconds before timing "
    "out.\n";

std::string top(const std::vector<NamedLog>& logs) {
  const auto got = diagnose(logs, {});
  return got.causes.empty() ? std::string(to_string(got.verdict)) : got.causes.front().id;
}

TEST(SeveralLogs, TellWhoLeftAlthoughItsLogComesLater) {
  const std::string waits = "torchrun\nstep 90 loss 1.9, last one\nfinal test pass\n" + kTimeout;
  EXPECT_EQ(top({{"rank_0.log", waits}, {"rank_1.log", "torchrun\nrun(): not rank 0, return\n"}}),
            "collective-on-subset-of-ranks");
}

TEST(SeveralLogs, TellWhoWentOnWhileAnotherSaved) {
  const std::string saves = "torchrun\nnew best 0.71, saving the full state dict\n" + kTimeout;
  EXPECT_EQ(top({{"rank_0.log", saves}, {"rank_1.log", "no improvement, not saving\nstep 91 forward\n" + kTimeout}}),
            "collective-on-subset-of-ranks");
}

TEST(SeveralLogs, NameTheRankOfAnException) {
  const std::vector<NamedLog> logs{{"rank_0.log", "torchrun\nstep 1 loss 2\n" + kTimeout},
                                   {"rank_3.log",
                                    "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n"
                                    "KeyError: 'mask'\n"}};
  const auto got = diagnose(logs, {});
  ASSERT_FALSE(got.causes.empty());
  EXPECT_EQ(got.causes.front().id, "single-rank-exception");
  EXPECT_EQ(got.causes.front().root_rank.value_or(-1), 3);
}

}  // namespace
}  // namespace fx::knowledge
