#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

// Some turn ends on a vote of all ranks.
bool ends_by_vote(const Trace& trace, const Loop& loop) {
  for (std::uint32_t i = loop.begin; i < loop.end; ++i) {
    const Event& event = trace.events[i];
    if (!event.is(EventKind::kJump) || event.callee == "continue") continue;
    for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
      if ((guard->taints & kReduced) != 0) return true;
    }
  }
  return false;
}

bool joins_uneven_inputs(const Event& event) {
  for (const Context* at = event.context; at != nullptr; at = at->outer) {
    if (contains(at->callee, "join") || contains(at->callee, "Join")) return true;
  }
  return false;
}

}  // namespace

void uneven_batches_per_rank(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& forward : trace.events) {
      const bool runs =
          forward.is(EventKind::kForward) || forward.is(EventKind::kForwardMethod) || forward.is(EventKind::kGenerate);
      if (!runs || inside_forward(forward) || !is_sharded(trace, forward.subject) ||
          sharding_of(trace, forward.subject) == Sharding::kAccelerate || joins_uneven_inputs(forward))
        continue;
      for (const Loop* loop = forward.loop; loop != nullptr; loop = loop->outer) {
        if ((loop->taints & kUneven) == 0 || (loop->taints & kEndless) != 0) continue;
        if (loop->node.is("for_in_clause") || ends_by_vote(trace, *loop)) break;
        // A loop inside a generator belongs to the loop that consumes it.
        if (!reached_from(forward, loop->file, loop->node)) continue;
        findings.at(loop->file, loop->node);
        break;
      }
    }
  }
}

}  // namespace fx::knowledge::checks
