#include "server/runs/outcome.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace fx::server {
namespace {

using tools::RunState;

RankEnd left(int rank, int code) {
  return {rank, 100 + rank, {code, std::nullopt}, false};
}
RankEnd killed(int rank, int signal, bool by_us = false) {
  return {rank, 100 + rank, {std::nullopt, signal}, by_us};
}
tools::RunEvents finished(const std::string& state) {
  tools::RunEvents events;
  events.finish = FinishEvent{20, state, "/out", 1.0};
  return events;
}
ErrorEvent error(long long rank, const std::string& what, const std::string& collective = {}) {
  ErrorEvent event;
  event.rank = rank;
  event.what = what;
  event.collective = collective;
  return event;
}

TEST(Outcome, RanksThatLeaveAfterTheFinishEventSucceed) {
  EXPECT_EQ(judge({left(0, 0), left(1, 0)}, false, finished("succeeded"), {}).state, RunState::kSucceeded);
}

TEST(Outcome, AStopWithACheckpointIsStopped) {
  const auto outcome = judge({left(0, 0), left(1, 0)}, true, finished("stopped"), {});
  EXPECT_EQ(outcome.state, RunState::kStopped);
  EXPECT_EQ(outcome.reason, "stopped on request after step 20");
}

TEST(Outcome, AStopThatCameTooLateIsASuccess) {
  EXPECT_EQ(judge({left(0, 0)}, true, finished("succeeded"), {}).state, RunState::kSucceeded);
}

TEST(Outcome, ExitCodeZeroWithoutAReportIsNoSuccess) {
  EXPECT_EQ(judge({left(0, 0)}, false, {}, {}).state, RunState::kFailed);
}

TEST(Outcome, TheKilledRankIsTheRootNotTheOneThatLostItsPeer) {
  const auto outcome =
      judge({left(0, 75), killed(1, SIGKILL)}, false, {}, {error(0, "connection closed by peer", "all_gather")});
  EXPECT_EQ(outcome.state, RunState::kFailed);
  EXPECT_EQ(outcome.reason, "rank 1 was killed by signal 9 (SIGKILL)");
}

TEST(Outcome, RanksThatWeEndedAreNotTheRoot) {
  const auto outcome = judge({killed(0, SIGKILL, true), left(1, 3)}, false, {}, {});
  EXPECT_EQ(outcome.reason, "rank 1 ended with exit code 3; see rank_1.log");
}

TEST(Outcome, ARankWithAnErrorOfItsOwnIsTheRoot) {
  const auto outcome = judge({left(0, 75), left(1, 2)}, false, {},
                             {error(0, "connection closed", "all_gather"), error(1, "data.path: no such file")});
  EXPECT_EQ(outcome.reason, "rank 1 ended with exit code 2: data.path: no such file");
}

TEST(Outcome, SecretsInErrorsAreNotRepeated) {
  const auto outcome =
      judge({left(0, 2)}, false, {}, {error(0, "cannot log in with hf_abcdefghijklmnopqrstuvwxyzABCDEFGH")});
  EXPECT_EQ(outcome.reason.find("hf_abcdef"), std::string::npos);
}

TEST(Outcome, NoCheckpointInTimeIsAFailure) {
  EXPECT_EQ(judge({killed(0, SIGKILL, true)}, true, {}, {}).state, RunState::kFailed);
}

}  // namespace
}  // namespace fx::server
