#include "tools/review_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/review_curves.h"
#include "tools/review_findings.h"
#include "tools/run_folder.h"

namespace fx::tools {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

// A run of which loss(i) and tokens_per_s(i) are known; i counts from 0.
template <class Loss, class Speed>
RunEvents run_of(int steps, Loss loss, Speed speed) {
  RunEvents events;
  events.start = StartEvent{};
  events.start->steps = steps;
  for (int i = 0; i < steps; ++i) {
    StepEvent step;
    step.step = i + 1;
    step.loss = loss(i);
    step.grad_norm = 0.5;
    step.tokens = 2048;
    step.tokens_per_s = speed(i);
    step.peak_bytes = {2 * kGib, 2.1 * kGib};
    events.steps.push_back(step);
    events.step_times_ms.push_back(1000LL * i);
  }
  return events;
}
double steady(int) {
  return 300;
}
double falling(int i) {
  return 3.0 - 0.08 * i + 0.05 * (i % 2);
}

bool has(const std::vector<Finding>& findings, const std::string& rule, Severity severity) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const auto& f) { return f.rule == rule && f.severity == severity; });
}

TEST(ReviewFindings, AHealthyRunHasNoWarnings) {
  const auto findings = review_events(run_of(20, falling, steady), {}, 16 * kGib);
  EXPECT_TRUE(has(findings, "loss-fell", Severity::kInfo));
  EXPECT_TRUE(has(findings, "throughput-steady", Severity::kInfo));
  EXPECT_TRUE(has(findings, "memory-has-room", Severity::kInfo));
  for (const auto& f : findings) EXPECT_EQ(f.severity, Severity::kInfo) << f.rule << ": " << f.message;
}

TEST(ReviewFindings, ALossThatIsNoNumberIsAnErrorAtItsStep) {
  const auto findings = review_events(run_of(
                                          20, [](int i) { return i < 7 ? 3.0 - i * 0.1 : std::nan(""); }, steady),
                                      {}, 0);
  ASSERT_TRUE(has(findings, "loss-not-finite", Severity::kError));
  EXPECT_NE(findings.front().message.find("step 8"), std::string::npos) << findings.front().message;
}

TEST(ReviewFindings, NoiseIsNotTakenForLearning) {
  const auto findings = review_events(run_of(
                                          20, [](int i) { return 3.0 + 0.3 * (i % 2 ? 1 : -1); }, steady),
                                      {}, 0);
  EXPECT_TRUE(has(findings, "loss-flat", Severity::kWarning));
}

TEST(ReviewFindings, ARisingLossIsDivergence) {
  EXPECT_TRUE(has(review_events(run_of(
                                    20, [](int i) { return 2.0 + 0.2 * i; }, steady),
                                {}, 0),
                  "loss-diverged", Severity::kError));
}

TEST(ReviewFindings, AFewStepsAreNotJudged) {
  EXPECT_TRUE(has(review_events(run_of(3, falling, steady), {}, 0), "loss-too-short", Severity::kInfo));
}

TEST(ReviewFindings, FallingAndUnsteadySpeedAreTold) {
  EXPECT_TRUE(has(review_events(run_of(20, falling, [](int i) { return i < 10 ? 300.0 : 200.0; }), {}, 0),
                  "throughput-falls", Severity::kWarning));
  EXPECT_TRUE(has(review_events(run_of(20, falling, [](int i) { return i % 5 == 4 ? 100.0 : 300.0; }), {}, 0),
                  "throughput-unsteady", Severity::kWarning));
}

TEST(ReviewFindings, MemoryNearTheMachinesLimitIsTold) {
  EXPECT_TRUE(has(review_events(run_of(20, falling, steady), {}, 4.2 * kGib), "memory-near-limit", Severity::kWarning));
}

TEST(ReviewFindings, TheFirstStepDoesNotCountForTheUsualSpeed) {
  EXPECT_DOUBLE_EQ(steady_tokens_per_s(run_of(3, falling, [](int i) { return i == 0 ? 10.0 : 300.0; })), 300);
}

TEST(ReviewCurves, LongRunsAreThinnedAndKeepTheirEnds) {
  const Json curves = review_curves(run_of(
      1000, [](int i) { return 1.0 * i; }, steady));
  const Json& loss = curves["loss"];
  EXPECT_EQ(loss.size(), kCurvePoints);
  EXPECT_EQ(loss.front(), (Json{1, 0.0}));
  EXPECT_EQ(loss.back(), (Json{1000, 999.0}));
}

TEST(ReviewCurves, ValuesThatAreNoNumbersAreNull) {
  const Json curves = review_curves(run_of(
      2, [](int) { return std::nan(""); }, steady));
  EXPECT_TRUE(curves["loss"][0][1].is_null());
}

}  // namespace
}  // namespace fx::tools
