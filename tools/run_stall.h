// Tells a run that goes on from one that stands still, long before a collective's own timeout does.
#pragma once

#include <optional>
#include <vector>

#include "tools/run_folder.h"

namespace fx::tools {

// A rank whose process is kept from running: the one to look at, whatever the others wait for.
struct HeldRank {
  int rank = 0;
  long long pid = 0;
  char state = 0;  // of /proc/PID/stat: T, t or D
};

struct Stall {
  double idle_s = 0;        // since the run's newest event
  double usual_step_s = 0;  // what a step took so far
  std::vector<HeldRank> held;
};

// Of a run in state running. nullopt while it may well be at work: before its first step (nothing says how long that
// takes), after its last (it saves), and within ten usual steps and 30 s of its newest event.
std::optional<Stall> stall_of(const RunEvents& events, const std::vector<RankProcess>& ranks, long long now_ms);

Json to_json(const Stall& stall);

}  // namespace fx::tools
