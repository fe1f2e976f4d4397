#include "server/runs/end_policy.h"

#include <gtest/gtest.h>

namespace fx::server {
namespace {

constexpr EndTimes kTimes{3'000, 2'000, 60'000, 90'000};

EndAction at(std::int64_t now, const RanksSeen& seen) {
  return next_action(seen, now, kTimes);
}

TEST(EndPolicy, HealthyRanksAreLeftAlone) {
  EXPECT_EQ(at(1'000'000, {.running = 2}), EndAction::kWait);
}

TEST(EndPolicy, NoRankLeftIsTheEnd) {
  EXPECT_EQ(at(0, {.running = 0}), EndAction::kDone);
  EXPECT_EQ(at(0, {.running = 0, .first_death = 0, .kill_sent = true}), EndAction::kDone);
}

TEST(EndPolicy, SurvivorsOfADeathMayReportThenAreTerminatedThenKilled) {
  RanksSeen seen{.running = 1, .first_death = 1'000};
  EXPECT_EQ(at(3'999, seen), EndAction::kWait);
  EXPECT_EQ(at(4'000, seen), EndAction::kTerminate);
  seen.term_sent = true;
  EXPECT_EQ(at(5'999, seen), EndAction::kWait);
  EXPECT_EQ(at(6'000, seen), EndAction::kKill);
  seen.kill_sent = true;
  EXPECT_EQ(at(6'001, seen), EndAction::kWait);
}

TEST(EndPolicy, AStopIsAskedForOnceAndForcedOnlyAfterItsTime) {
  RanksSeen seen{.running = 2, .stop_asked = 1'000};
  EXPECT_EQ(at(1'000, seen), EndAction::kTerminate);
  seen.term_sent = true;
  EXPECT_EQ(at(60'999, seen), EndAction::kWait);
  EXPECT_EQ(at(61'000, seen), EndAction::kKill);
}

TEST(EndPolicy, ADeathDuringAStopDoesNotWaitForTheCheckpoint) {
  const RanksSeen seen{.running = 1, .first_death = 2'000, .stop_asked = 1'000, .term_sent = true};
  EXPECT_EQ(at(6'999, seen), EndAction::kWait);
  EXPECT_EQ(at(7'000, seen), EndAction::kKill);
}

TEST(EndPolicy, ARankThatStaysBehindTheOthersIsEndedAtLast) {
  const RanksSeen seen{.running = 1, .first_leaving = 1'000};
  EXPECT_EQ(at(90'999, seen), EndAction::kWait);
  EXPECT_EQ(at(91'000, seen), EndAction::kKill);
}

}  // namespace
}  // namespace fx::server
