#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

const Guard* local_condition(const Event& event) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (!guard->implied && (guard->taints & kLocal) != 0 && (guard->taints & kRank) == 0) return guard;
  }
  return nullptr;
}

// Of the branch for the ranks that do not leave: theirs alone anyway.
bool in_other_branch(const Event& event, const Guard& guard) {
  for (const Guard* at = event.guard; at != nullptr; at = at->outer) {
    if (at->test == guard.test && at->positive != guard.positive && !at->implied) return true;
  }
  return false;
}

// The first event that the jump skips and that the other ranks need this one for.
const Event* skipped_joint(const Program& program, const Trace& trace, const Event& jump, const Guard& guard) {
  Event staying;  // a rank for which the condition fails
  staying.guard = guard.outer;
  staying.pass = jump.pass;
  for (std::uint32_t i = jump.index + 1; i < jump.skip_end && i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (!is_joint(trace, event) || under(event, &guard) || !compatible(staying, event) || in_other_branch(event, guard))
      continue;
    if (event.is(EventKind::kStateDict) && !gathers_state(program, trace, event)) continue;
    return &event;
  }
  return nullptr;
}

// `if not 0 <= rank < size: raise`: fails on no rank of a healthy job.
bool checks_a_range(const Guard& guard) {
  return guard.test.text().find_first_of("<>") != std::string_view::npos;
}

bool is_iterator_end(const Guard& guard) {
  return guard.kind == GuardKind::kExcept &&
         contains(guard.test.text().substr(0, guard.test.text().find(':')), "StopIteration");
}

// Everything in the trace that some rank-independent reading of the condition makes equal: a vote inside the condition.
bool agreed(const Guard& guard) {
  return (guard.taints & kReduced) != 0 && (guard.taints & kRank) == 0;
}

}  // namespace

void rank_guarded_exit(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& jump : trace.events) {
      if (!jump.is(EventKind::kJump)) continue;
      const Guard* guard = rank_condition(jump, false);
      if (guard == nullptr || (jump.callee == "raise" && checks_a_range(*guard))) continue;
      const Event* skipped = skipped_joint(program, trace, jump, *guard);
      // A gather of state behind `if rank != 0: return` is state-dict-under-rank-guard.
      if (skipped == nullptr || (skipped->is(EventKind::kStateDict) && jump.callee == "return")) continue;
      findings.at(jump, "Ranks that leave here skip '" + quote_input(skipped->node.text(), 60) + "' in line " +
                            std::to_string(skipped->line()) + ".");
    }
  }
}

void rank_local_skip(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& jump : trace.events) {
      if (!jump.is(EventKind::kJump) || jump.callee == "raise" || jump.callee == "exit") continue;
      const Guard* guard = local_condition(jump);
      if (guard == nullptr || is_iterator_end(*guard) || agreed(*guard)) continue;
      const Event* skipped = skipped_joint(program, trace, jump, *guard);
      if (skipped == nullptr) continue;
      findings.at(jump, "Whether a rank leaves here depends on its own data; it then skips '" +
                            quote_input(skipped->node.text(), 60) + "' in line " + std::to_string(skipped->line()) +
                            ".");
    }
  }
}

}  // namespace fx::knowledge::checks
