#include <algorithm>

#include "knowledge/code_rules/accumulation.h"
#include "knowledge/code_rules/checks.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

// A zero_grad of this optimizer, or of the model it steps.
bool clears(const Trace& trace, const Event& zero, const Event& step) {
  const Object* what = core_of(zero.subject);
  const Object* optimizer = core_of(step.subject);
  if (what == nullptr || optimizer == nullptr) return false;
  if (what == optimizer) return true;
  const Object* model = model_of_optimizer(trace, step.subject);
  if (model != nullptr) return what->type == Type::kModel && same_model(what, model);
  return what->type == Type::kModel && trace.events.size() > 0;
}

const Event* previous(const Trace& trace, std::uint32_t before, EventKind kind, const Event& same_run) {
  for (std::uint32_t i = before; i-- > 0;) {
    const Event& event = trace.events[i];
    if (event.is(kind) && compatible(event, same_run)) return &event;
  }
  return nullptr;
}

bool steps_between(const Trace& trace, const Event& from, const Event& to) {
  for (std::uint32_t i = from.index + 1; i < to.index; ++i) {
    if (trace.events[i].is(EventKind::kStep) && trace.events[i].subject == to.subject) return true;
  }
  return false;
}

// What a failed step left is dropped on purpose.
bool in_handler(const Event& event) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (guard->kind == GuardKind::kExcept) return true;
  }
  return false;
}

void cleared_before_step(const Trace& trace, Findings& findings) {
  for (const Event& step : trace.events) {
    if (!step.is(EventKind::kStep) || step.pass != 1) continue;
    const Event* zero = previous(trace, step.index, EventKind::kZeroGrad, step);
    const Event* backward = previous(trace, step.index, EventKind::kBackward, step);
    if (zero == nullptr || backward == nullptr || zero->index < backward->index || zero->pass != 1) continue;
    if (in_handler(*zero) || !compatible(*zero, *backward) || !clears(trace, *zero, step) ||
        steps_between(trace, *backward, step))
      continue;
    findings.at(*zero, "The gradients of the backward pass before are gone when the optimizer steps.");
  }
}

void cleared_in_every_microbatch(const Trace& trace, Findings& findings) {
  for (const Window& window : accumulation_windows(trace)) {
    for (const Event& zero : trace.events) {
      if (zero.is(EventKind::kZeroGrad) && in_every_microbatch(window, zero) && clears(trace, zero, *window.step))
        findings.at(zero, "Only the last microbatch of the window is left when the optimizer steps.");
    }
  }
}

bool trains_in_loop(const Trace& trace, const Event& step) {
  for (const Event& event : trace.events) {
    if (!event.is(EventKind::kBackward) || event.loop == nullptr) continue;
    // Of one microbatch, or of several in a loop of their own.
    if (inside(step, event.loop) || (step.loop != nullptr && inside(event, step.loop))) return true;
  }
  return false;
}

bool is_built_optimizer(const Object* object) {
  return object != nullptr && object->type == Type::kOptimizer && object->made_by != nullptr;
}

// Of a trace that clears some optimizers: one that it builds and steps in a loop, and that nothing clears. What is not
// known to be another optimizer or its model may be this one.
void never_cleared_beside_others(const Program& program, Findings& findings) {
  const bool seen_to_the_end = std::ranges::none_of(program.files(), [](const auto& file) { return file->cut_off; });
  if (program.uses_accelerate() || !seen_to_the_end) return;
  std::vector<std::pair<const Trace*, const Event*>> zeros;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kZeroGrad)) zeros.emplace_back(&trace, &event);
    }
  }
  for (const Trace& trace : program.traces()) {
    if (!trace.complete) continue;
    for (const Event& step : trace.events) {
      const Object* optimizer = core_of(step.subject);
      if (!step.is(EventKind::kStep) || !is_built_optimizer(optimizer) || !trains_in_loop(trace, step)) continue;
      const Object* model = model_of_optimizer(trace, optimizer);
      if (model == nullptr) continue;
      const bool cleared = std::ranges::any_of(zeros, [&](const auto& zero) {
        const Object* what = core_of(zero.second->subject);
        if (is_built_optimizer(what)) return what == optimizer || what->node == optimizer->node;
        const bool other = what != nullptr && what->type == Type::kModel && what->made_by != nullptr;
        return !other || same_model(what, model) || root_of(what)->node == root_of(model)->node;
      });
      if (!cleared) findings.at(step, "Other optimizers are cleared, this one never.");
    }
  }
}

bool sets_gradients_to_none(const Program& program) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kSetAttribute) && event.callee == "grad") return true;
    }
  }
  return false;
}

}  // namespace

void zero_grad_misplaced(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    cleared_before_step(trace, findings);
    if (!program.uses_accelerate()) cleared_in_every_microbatch(trace, findings);
  }
  if (sets_gradients_to_none(program)) return;
  if (program.calls(".zero_grad")) return never_cleared_beside_others(program, findings);
  if (program.may_call(".zero_grad")) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& step : trace.events) {
      if (step.is(EventKind::kStep) && trains_in_loop(trace, step))
        findings.at(step, "Nothing ever clears the gradients.");
    }
  }
}

}  // namespace fx::knowledge::checks
