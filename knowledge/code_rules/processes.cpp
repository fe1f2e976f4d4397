#include "knowledge/code_rules/processes.h"

#include "base/text.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::code {

bool is_multi_process(const Program& program) {
  if (!program.backends().empty() || program.uses_accelerate()) return true;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      switch (event.kind) {
        case EventKind::kShard:
        case EventKind::kDdp:
        case EventKind::kCollective:
        case EventKind::kNewGroup:
          return true;
        case EventKind::kForward:
        case EventKind::kStateDict:
        case EventKind::kLoadState:
          if (sharding_of(trace, event.subject) != Sharding::kNone) return true;
          break;
        default:
          break;
      }
    }
  }
  return false;
}

bool differs_by_rank(const Object* value) {
  return made_from(value, [](const Object& object) {
    return object.has(kRank | kLocal | kUneven) || object.identity != Identity::kNone ||
           contains_ignoring_case(object.name, "rank");
  });
}

}  // namespace fx::knowledge::code
