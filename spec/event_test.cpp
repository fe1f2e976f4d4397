#include "spec/event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace fx {
namespace {

StepEvent step(long long number, double loss) {
  StepEvent body;
  body.step = number;
  body.loss = loss;
  body.peak_bytes = {1e9, 2e9};
  return body;
}

TEST(Event, ReadsBackWhatItWrites) {
  for (const Event& event : {Event{5, StartEvent{2, 20, 0, 7, "gloo", "bf16", "fp32", 3, 4}}, Event{6, step(1, 2.5)},
                             Event{7, CheckpointEvent{1, "/o/c", 0.5, 9}}, Event{8, FinishEvent{1, "stopped", "/o", 3}},
                             Event{9, ErrorEvent{1, "out of memory", "forward", "all_gather", 12, "fewer tokens"}}}) {
    const std::string line = to_event_line(event);
    const auto again = parse_event(line);
    ASSERT_TRUE(again) << line << to_line(again.error());
    EXPECT_EQ(to_event_line(*again), line);
    EXPECT_EQ(again->time_ms, event.time_ms);
  }
}

TEST(Event, LossThatIsNotANumberStaysOne) {
  const std::string line = to_event_line({0, step(1, NAN)});
  EXPECT_NE(line.find("\"loss\":null"), std::string::npos) << line;
  EXPECT_TRUE(std::isnan(std::get<StepEvent>(parse_event(line)->body).loss));
}

TEST(ReadEvents, LeavesAHalfWrittenLineForTheNextRead) {
  const std::string first = to_event_line({0, step(1, 2)}), second = to_event_line({0, step(2, 1)});
  const std::string text = first + second.substr(0, 20);
  const auto batch = read_events(text);
  ASSERT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.consumed, first.size());
  EXPECT_EQ(read_events((text + second.substr(20)).substr(batch.consumed)).events.size(), 1u);
}

TEST(ReadEvents, SkipsDamagedLinesAndCountsThem) {
  const std::string good = to_event_line({0, step(1, 2)});
  const auto batch = read_events("garbage\n" + good + "{\"event\":\"step\"}\n\n{\"event\":7}\n\xff\n" + good);
  EXPECT_EQ(batch.events.size(), 2u);
  EXPECT_EQ(batch.skipped, 4u);
}

}  // namespace
}  // namespace fx
