#include "tools/run_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"

namespace fx::tools {
namespace {

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("fx_run_folder_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(make_folder(folder_));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  template <class Body>
  void add(long long time_ms, Body body) {
    ASSERT_TRUE(append_file(folder_ / kEventsFile, to_event_line(Event{time_ms, std::move(body)})));
  }
  static StepEvent step(long long number, double loss = 1) {
    StepEvent out;
    out.step = number;
    out.loss = loss;
    out.tokens = 1000;
    out.tokens_per_s = 500;
    return out;
  }
  static StartEvent start(long long steps) {
    StartEvent out;
    out.steps = steps;
    return out;
  }
  std::filesystem::path folder_;
};

TEST_F(RunFolderTest, AFolderWithoutEventsHasNone) {
  const auto events = read_run_events(folder_, 1 << 20);
  EXPECT_FALSE(events.start);
  EXPECT_TRUE(events.steps.empty());
  EXPECT_EQ(progress_of(events).step, 0);
}

TEST_F(RunFolderTest, ALineThatIsStillBeingWrittenIsLeftOut) {
  add(0, start(10));
  add(2000, step(1));
  ASSERT_TRUE(append_file(folder_ / kEventsFile, R"({"event":"step","time_ms":3000,"st)"));
  const auto events = read_run_events(folder_, 1 << 20);
  EXPECT_EQ(events.steps.size(), 1U);
  EXPECT_EQ(events.skipped, 0U);
}

TEST_F(RunFolderTest, DamagedLinesAreCountedAndSkipped) {
  add(0, start(10));
  ASSERT_TRUE(append_file(folder_ / kEventsFile, "\xff\x01{{{\n"));
  add(2000, step(1));
  const auto events = read_run_events(folder_, 1 << 20);
  EXPECT_EQ(events.skipped, 1U);
  EXPECT_EQ(events.steps.size(), 1U);
}

TEST_F(RunFolderTest, ALongFileKeepsItsStartAndItsEnd) {
  add(0, start(5000));
  for (int i = 1; i <= 3000; ++i) add(1000LL * i, step(i));
  const auto events = read_run_events(folder_, 4096);
  ASSERT_TRUE(events.start);
  EXPECT_EQ(events.start->steps, 5000);
  EXPECT_EQ(events.steps.back().step, 3000);
}

TEST_F(RunFolderTest, StepsThatAResumedRunComputesAgainReplaceTheOldOnes) {
  add(0, start(10));
  for (int i = 1; i <= 4; ++i) add(1000LL * i, step(i, 9));
  add(9000, start(10));
  for (int i = 3; i <= 5; ++i) add(9000 + 1000LL * i, step(i, 1));
  const auto events = read_run_events(folder_, 1 << 20);
  ASSERT_EQ(events.steps.size(), 5U);
  EXPECT_EQ(events.steps[1].loss, 9);
  EXPECT_EQ(events.steps[2].loss, 1);
}

TEST_F(RunFolderTest, ProgressTellsSpeedAndTimeLeft) {
  add(0, start(10));
  for (int i = 1; i <= 4; ++i) add(3000LL * i, step(i));
  const auto progress = progress_of(read_run_events(folder_, 1 << 20));
  EXPECT_EQ(progress.step, 4);
  EXPECT_EQ(progress.steps, 10);
  EXPECT_DOUBLE_EQ(progress.tokens_per_s, 500);
  ASSERT_TRUE(progress.eta_s);
  EXPECT_DOUBLE_EQ(*progress.eta_s, 18);
}

TEST_F(RunFolderTest, RanksAreReadBackAndKnowWhetherTheyLive) {
  EXPECT_TRUE(read_ranks(folder_).empty());
  ASSERT_TRUE(write_ranks(folder_, {{0, ::getpid(), process_birth(::getpid()), ""},
                                    {1, ::getpid(), "another boot", ""},
                                    {2, ::getpid(), process_birth(::getpid()), "exit code 0"}}));
  const auto ranks = read_ranks(folder_);
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_TRUE(ranks[0].alive());
  EXPECT_FALSE(ranks[1].alive());
  EXPECT_FALSE(ranks[2].alive());
  ASSERT_TRUE(write_file_atomic(folder_ / kRanksFile, R"([1, {"rank": "x"}, {"rank": 3, "pid": null}])"));
  EXPECT_EQ(read_ranks(folder_).size(), 1U);
}

}  // namespace
}  // namespace fx::tools
