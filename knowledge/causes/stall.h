// What the ranks did when a collective stopped: who announced a save, who went on, who prepared data. Shared by the
// causes of ranks out of step.
#pragma once

#include <set>
#include <vector>

#include "knowledge/log/scene.h"

namespace fx::knowledge {

struct Stall {
  bool any = false;        // some rank waited in vain
  int first = -1;          // line of the first sign of it
  std::vector<int> signs;  // all of them
  std::vector<int> saves;  // announcements of a save or gather near its end, before the stall
  std::set<int> savers;    // ranks that announced it
  std::vector<int> moves;  // other ranks that went on: next step, not saving, leaving
  std::set<int> movers;
  std::vector<int> guards;  // code lines that let only some ranks reach a collective
  bool saved_last = false;  // no step was reported between the announcement and the stall
};

const std::vector<Mark>& stall_marks();
// Lines that say that somebody waits in vain; advice about what might happen is left out.
std::vector<int> stall_signs(const Scene& scene);
// The line stands below the other one in the same log; lines of two logs have no such order.
bool behind(const LogBook& book, int line, int other);
Stall find_stall(const Scene& scene);
// Ranks that say the same with different whole numbers ("dataloader has 120 batches" / "... 119 batches").
struct CountSplit {
  std::vector<int> lines;  // each rank's last word, those of the fewer ranks first; empty: no split
  std::set<int> odd;       // the ranks outside the largest group; empty when the two largest are of equal size
};
CountSplit differing_counts(const LogBook& book, const std::vector<int>& lines);

}  // namespace fx::knowledge
