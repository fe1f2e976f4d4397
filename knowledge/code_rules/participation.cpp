#include "knowledge/code_rules/participation.h"

#include <algorithm>

#include "knowledge/code/names.h"

namespace fx::knowledge {

using namespace code;

bool is_sharded(const Trace& trace, const Object* model, bool with_ddp) {
  if (model == nullptr) return false;
  const Sharding sharding = sharding_of(trace, model);
  return sharding == Sharding::kFsdp1 || sharding == Sharding::kFsdp2 || sharding == Sharding::kAccelerate ||
         (with_ddp && sharding == Sharding::kDdp);
}

bool is_joint(const Trace& trace, const Event& event) {
  switch (event.kind) {
    case EventKind::kForward:
    case EventKind::kGenerate:
    case EventKind::kForwardMethod:
      return is_sharded(trace, event.subject);
    case EventKind::kClip:
      return event.subject != nullptr && is_sharded(trace, event.subject) &&
             event.callee != "torch.nn.utils.clip_grad_value_";
    case EventKind::kBackward:
      return true;
    default:
      return needs_all_ranks(event);
  }
}

bool gathers_state(const Program& program, const Trace& trace, const Event& event) {
  if (!event.is(EventKind::kStateDict)) return false;
  if (event.callee == ".get_state_dict") return program.calls("accelerate.FullyShardedDataParallelPlugin");
  if (event.callee == ".state_dict")
    return event.subject != nullptr && sharding_of(trace, event.subject) == Sharding::kFsdp1;
  return true;
}

const Guard* rank_condition(const Event& event, bool with_implied) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if ((guard->taints & kRank) != 0 && (with_implied || !guard->implied)) return guard;
  }
  return nullptr;
}

bool other_branch_matches(const Trace& trace, const Event& event, const Guard& guard) {
  return std::ranges::any_of(trace.events, [&](const Event& other) {
    if (other.kind != event.kind || last_part(other.callee) != last_part(event.callee) || other.pass != event.pass)
      return false;
    for (const Guard* at = other.guard; at != nullptr; at = at->outer) {
      if (at->test == guard.test && at->positive != guard.positive) return true;
    }
    return false;
  });
}

bool within(Node inner, Node outer) {
  return inner && outer && inner.begin() >= outer.begin() && inner.end() <= outer.end();
}

std::pair<const SourceFile*, Node> below(const Event& event, const Guard& guard) {
  if (event.file == guard.file && within(event.node, guard.statement)) return {event.file, event.node};
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    if (frame->call_file == guard.file && within(frame->call, guard.statement)) return {frame->call_file, frame->call};
  }
  return {event.file, event.node};
}

}  // namespace fx::knowledge
