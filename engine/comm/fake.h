// Rank 0 of a world that is not there: every collective is counted and returns at once. Its tensors are sizes only (the
// meta device), so a step of thousands of ranks runs on one core.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"

namespace fx::engine {

// What was sent, in order of first appearance.
struct Traffic {
  std::string phase;      // of the step: "forward", "backward"
  std::string group;      // world, shard, replicate, slice
  std::string operation;  // all_gather, reduce_scatter, all_reduce
  int ranks = 0;          // in the group
  std::int64_t calls = 0;
  std::int64_t bytes_sent = 0;     // by this rank
  std::int64_t largest_bytes = 0;  // full buffer of the largest call
};
using TrafficLog = std::vector<Traffic>;

// size ranks; the log must outlive the group and those split from it.
std::unique_ptr<Collectives> make_fake(int size, TrafficLog& log);

}  // namespace fx::engine
