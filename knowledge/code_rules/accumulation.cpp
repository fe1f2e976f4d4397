#include "knowledge/code_rules/accumulation.h"

#include <algorithm>

#include "base/text.h"

namespace fx::knowledge::code {
namespace {

bool named_like_a_boundary(std::string_view text) {
  for (const std::string_view part : {"accum", "boundary", "last", "sync", "micro"}) {
    if (contains_ignoring_case(text, part)) return true;
  }
  return false;
}

// A condition on the count of microbatches.
bool is_boundary(const Guard& guard) {
  if (guard.kind != GuardKind::kIf || (guard.taints & (kRank | kLocal)) != 0) return false;
  if (contains(guard.test.text(), "%") || named_like_a_boundary(guard.test.text())) return true;
  const Object* value = main_of(guard.value);
  return value != nullptr && ((guard.taints & kStepCount) != 0 || contains(value->node.text(), "%"));
}

// outer may be nullptr: no loop at all.
bool lies_within(const Loop* loop, const Loop* outer) {
  if (outer == nullptr) return true;
  for (; loop != nullptr; loop = loop->outer) {
    if (loop == outer) return true;
  }
  return false;
}

// The condition that the step has and the backward call has not, if it is about the count of microbatches.
const Guard* boundary_of(const Event& step, const Event& backward) {
  for (const Guard* guard = step.guard; guard != nullptr; guard = guard->outer) {
    if (under(backward, guard)) return nullptr;
    if (is_boundary(*guard)) return guard;
  }
  return nullptr;
}

bool steps_in(const Trace& trace, const Loop& loop) {
  for (std::uint32_t i = loop.begin; i < loop.end && i < trace.events.size(); ++i) {
    if (trace.events[i].is(EventKind::kStep)) return true;
  }
  return false;
}

bool forward_in(const Trace& trace, const Loop& loop, const Event& backward) {
  for (std::uint32_t i = loop.begin; i < backward.index; ++i) {
    if (trace.events[i].is(EventKind::kForward)) return true;
  }
  return false;
}

}  // namespace

std::vector<Window> accumulation_windows(const Trace& trace) {
  std::vector<Window> windows;
  for (const Event& backward : trace.events) {
    if (!backward.is(EventKind::kBackward) || backward.pass != 1 || backward.loop == nullptr) continue;
    const Loop& loop = *backward.loop;
    for (std::uint32_t i = backward.index + 1; i < trace.events.size(); ++i) {
      const Event& step = trace.events[i];
      if (!step.is(EventKind::kStep) || step.pass != 1 || !compatible(backward, step)) continue;
      if (lies_within(step.loop, &loop)) {
        if (const Guard* boundary = boundary_of(step, backward)) {
          windows.push_back({&backward, &step, &loop, boundary});
        }
      } else if (i >= loop.end && lies_within(loop.outer, step.loop) && !steps_in(trace, loop) &&
                 forward_in(trace, loop, backward)) {
        windows.push_back({&backward, &step, &loop, nullptr});
      }
      break;
    }
  }
  return windows;
}

bool in_every_microbatch(const Window& window, const Event& event) {
  if (event.pass != 1 || !inside(event, window.loop)) return false;
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (!under(*window.backward, guard)) return false;
  }
  return true;
}

const Object* model_of_optimizer(const Trace& trace, const Object* optimizer) {
  const Object* wanted = core_of(optimizer);
  if (wanted == nullptr) return nullptr;
  for (const Event& event : trace.events) {
    if (event.is(EventKind::kOptimizer) && core_of(event.result) == wanted) return event.subject;
  }
  return nullptr;
}

const Object* trained_model(const Trace& trace, const Event& backward) {
  for (std::uint32_t i = backward.index + 1; i < trace.events.size(); ++i) {
    if (!trace.events[i].is(EventKind::kStep)) continue;
    if (const Object* model = model_of_optimizer(trace, trace.events[i].subject)) return model;
    break;
  }
  for (std::uint32_t i = backward.index; i-- > 0;) {
    const Event& event = trace.events[i];
    if (event.is(EventKind::kForward) && !without_grad(event) && !inside_forward(event)) return event.subject;
  }
  return nullptr;
}

}  // namespace fx::knowledge::code
