#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

// `if not main: serve()`, where serve() takes part in whatever the main rank sends, until told to stop.
bool serves_the_others(const Trace& trace, const Event& event, const Guard& guard) {
  for (const Loop* loop = event.loop; loop != nullptr; loop = loop->outer) {
    if ((loop->taints & kEndless) != 0 && loop->begin < trace.events.size() && under(trace.events[loop->begin], &guard))
      return true;
  }
  return false;
}

// Of a context manager, whose other half may wait for it.
bool is_one_half(const Event& event) {
  const Frame* frame = event.frame;
  while (frame != nullptr && frame->caller != nullptr && frame->caller->function != nullptr) frame = frame->caller;
  return frame != nullptr && frame->function != nullptr && frame->function->of_class != nullptr &&
         frame->function->name == "__enter__" && frame->function->of_class->method("__exit__") != nullptr;
}

// `rank in get_process_group_ranks(group)`: all of those for whom the call is.
bool asks_for_members(const Guard& guard) {
  return contains(guard.test.text(), " in ") && contains(guard.test.text(), "group");
}

}  // namespace

void collective_under_rank_guard(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      // A backward belongs to a sharded model only if one is forwarded under the same condition.
      if (event.is(EventKind::kStateDict) || event.is(EventKind::kBackward)) continue;
      if (event.guard == nullptr || !is_joint(trace, event)) continue;
      const Guard* guard = rank_condition(event, false);
      if (guard == nullptr || for_its_own_group(event) || other_branch_matches(trace, event, *guard) ||
          serves_the_others(trace, event, *guard) || is_one_half(event))
        continue;
      const auto [file, node] = below(event, *guard);
      findings.at(file, node, "Only ranks that pass '" + quote_input(guard->test.text(), 60) + "' make this call.");
    }
  }
}

void state_dict_under_rank_guard(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.guard == nullptr || !gathers_state(program, trace, event)) continue;
      const Guard* guard = rank_condition(event, true);
      if (guard == nullptr || other_branch_matches(trace, event, *guard) || asks_for_members(*guard)) continue;
      findings.at(event, "The gather is reached only by ranks for which '" + quote_input(guard->test.text(), 60) +
                             "' is " + (guard->positive ? "true." : "false."));
    }
  }
}

}  // namespace fx::knowledge::checks
