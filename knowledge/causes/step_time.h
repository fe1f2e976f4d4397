// Where the time of a step goes, from the timings that a log prints: "data_time: 1.6 time: 1.9", "all_gather 61 %",
// "time (ms) | forward: 376.60 | step: 22880.87".
#pragma once

#include <vector>

#include "knowledge/log/scene.h"

namespace fx::knowledge {

enum class TimeKind { kData, kCommunication, kOffload, kOptimizer, kCompute, kWhole };

struct TimeShare {
  double share = 0;        // of the step, 0 to 1, the largest that a line says
  std::vector<int> lines;  // lines in which it takes 40 % or more
};

// Lines of errors and watchdogs do not count.
TimeShare share_of(const Scene& scene, TimeKind kind);

// The percent sign belongs to a progress bar ("40%|####      | 4/10 [00:04<00:06]"): how far it is, no share of time.
bool is_bar(std::string_view low, std::size_t sign);

const std::vector<Mark>& step_time_marks();

}  // namespace fx::knowledge
