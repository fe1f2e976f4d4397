#include "tools/run_stall.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/process.h"

namespace fx::tools {
namespace {

constexpr long long kSecond = 1000;

// Steps of two seconds, the last one reported at 20 s.
RunEvents ten_steps_of(long long steps) {
  RunEvents out;
  out.start.emplace().steps = steps;
  for (long long number = 1; number <= 10; ++number) {
    StepEvent step;
    step.step = number;
    out.steps.push_back(step);
    out.step_times_ms.push_back(number * 2 * kSecond);
    out.recent.push_back({number * 2 * kSecond, step});
  }
  return out;
}

TEST(Stall, ARunWithinTenUsualStepsIsAtWork) {
  EXPECT_FALSE(stall_of(ten_steps_of(100), {}, 49 * kSecond));
}

TEST(Stall, ARunThatHasReportedNothingForLongStandsStill) {
  const auto stall = stall_of(ten_steps_of(100), {}, 80 * kSecond);
  ASSERT_TRUE(stall);
  EXPECT_DOUBLE_EQ(stall->idle_s, 60);
  EXPECT_DOUBLE_EQ(stall->usual_step_s, 2);
  EXPECT_TRUE(stall->held.empty());
  EXPECT_NE(to_json(*stall)["hint"].get<std::string>().find("stop_run"), std::string::npos);
}

TEST(Stall, ACheckpointIsASignOfLifeToo) {
  auto events = ten_steps_of(100);
  events.recent.push_back({60 * kSecond, CheckpointEvent{}});
  EXPECT_FALSE(stall_of(events, {}, 80 * kSecond));
}

TEST(Stall, BeforeTheFirstStepAndAfterTheLastNothingIsSaid) {
  RunEvents loading;
  loading.start.emplace().steps = 10;
  loading.recent.push_back({0, *loading.start});
  EXPECT_FALSE(stall_of(loading, {}, 900 * kSecond));
  EXPECT_FALSE(stall_of(ten_steps_of(10), {}, 900 * kSecond));
}

TEST(Stall, TheRankThatIsKeptFromRunningIsNamed) {
  ProcessSpec spec;
  spec.command = {"sleep", "60"};
  const auto at_work = start_process(spec), stopped = start_process(spec);
  ASSERT_TRUE(at_work && stopped);
  ::kill(*stopped, SIGSTOP);
  while (process_state(*stopped) != 'T') std::this_thread::yield();
  const std::vector<RankProcess> ranks = {{0, *at_work, process_birth(*at_work), ""},
                                          {1, *stopped, process_birth(*stopped), ""}};
  const auto stall = stall_of(ten_steps_of(100), ranks, 80 * kSecond);
  for (const pid_t pid : {*at_work, *stopped}) {
    signal_group(pid, SIGKILL);
    wait_process(pid);
  }
  ASSERT_TRUE(stall);
  ASSERT_EQ(stall->held.size(), 1U);
  EXPECT_EQ(stall->held[0].rank, 1);
  const Json json = to_json(*stall);
  EXPECT_EQ(json["held_ranks"][0]["state"], "stopped by a signal");
  EXPECT_EQ(json["hint"], "kill -CONT " + std::to_string(*stopped) + " lets it go on.");
}

}  // namespace
}  // namespace fx::tools
