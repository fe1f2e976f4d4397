// Who left the common path: compares the ranks' sequence numbers, operations and sizes.
#pragma once

#include <set>
#include <vector>

#include "knowledge/log/collective_events.h"
#include "knowledge/log/event.h"

namespace fx::knowledge {

struct Desync {
  std::set<int> timed_out;   // ranks whose own watchdog fired
  std::set<int> behind;      // enqueued fewer collectives than the others, or timed out at a lower number
  std::set<int> differing;   // other operation or sizes than the majority at one number
  std::set<int> absent;      // never reported while nearly all others did
  int ahead = -1;            // the one rank at a higher number than all the others, who are together
  bool sides_equal = false;  // differing: the two sides are equally large, so neither is the odd one
  std::vector<int> lines;    // proof, most telling first
  long long sequence = -1;   // the number where the ranks part
  bool any() const { return !behind.empty() || !differing.empty() || !absent.empty(); }
  // The one rank that is behind, odd or absent; -1 when there is none or several.
  int suspect() const;
};

// world is -1 when unknown; seen are all ranks that the log mentions.
Desync find_desync(const std::vector<CollectiveTimeout>& timeouts, const std::vector<WorkStatus>& status,
                   const std::vector<RunningCollective>& running, const std::set<int>& seen, int world);

}  // namespace fx::knowledge
