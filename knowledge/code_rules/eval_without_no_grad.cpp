#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/freezing.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

// "run_eval", "validate_epoch", "test"; not "evaluator" or "iterate_valid_names", and no unit test.
bool is_evaluation_name(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kAnywhere = {"eval", "evaluate", "evaluation", "validate"};
  static constexpr std::array<std::string_view, 4> kAtTheEnds = {"validation", "valid", "val", "test"};
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  // Of actions that were taken, as policy gradients ask for it: with gradients.
  if (name.starts_with("test_") || contains_ignoring_case(name, "action")) return false;
  const auto words = split(name, '_');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = to_lower(words[i]);
    if (std::ranges::find(kAnywhere, word) != kAnywhere.end()) return true;
    if ((i == 0 || i + 1 == words.size()) && std::ranges::find(kAtTheEnds, word) != kAtTheEnds.end()) return true;
  }
  return false;
}

// Where the evaluating function, seen from the forward, makes the call that leads to it.
struct Place {
  const Frame* evaluation = nullptr;
  const SourceFile* file = nullptr;
  Node node;
};

Place place_of(const Event& forward) {
  Place place{nullptr, forward.file, forward.node};
  for (const Frame* frame = forward.frame; frame != nullptr; frame = frame->caller) {
    if (frame->function != nullptr && is_evaluation_name(frame->function->name)) {
      place.evaluation = frame;
      return place;
    }
    if (frame->call) {
      place.file = frame->call_file;
      place.node = frame->call;
    }
  }
  return place;
}

bool is_in(const Event& event, const Frame* frame) {
  for (const Frame* at = event.frame; at != nullptr; at = at->caller) {
    if (at == frame) return true;
  }
  return false;
}

bool differentiates(const Trace& trace, const Frame* frame) {
  for (const Event& event : trace.events) {
    if (event.is(EventKind::kBackward) && is_in(event, frame)) return true;
  }
  return false;
}

// What the forward gave is differentiated later, wherever.
bool is_differentiated(const Trace& trace, const Event& forward) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    return event.is(EventKind::kBackward) && event.index > forward.index &&
           (made_from(event.receiver, forward.result) || made_from(event.argument("loss", 0), forward.result));
  });
}

// From .eval() to the next .train(), or to the end of the turn, nothing is differentiated.
bool only_evaluates(const Trace& trace, const Event& eval) {
  const std::uint32_t end = eval.loop == nullptr ? static_cast<std::uint32_t>(trace.events.size()) : eval.loop->second;
  for (std::uint32_t i = eval.index + 1; i < end && i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.is(EventKind::kTrainMode) && event.callee == ".train" && same_model(event.subject, eval.subject)) break;
    if (event.is(EventKind::kBackward)) return false;
  }
  return true;
}

// .eval() in the same function or one that led here, and no .train() since.
bool after_eval(const Trace& trace, const Event& forward) {
  for (std::uint32_t i = forward.index; i-- > 0;) {
    const Event& event = trace.events[i];
    if (!event.is(EventKind::kTrainMode) || !is_in(forward, event.frame) || !same_model(event.subject, forward.subject))
      continue;
    // Under a condition of its own, as `if is_frozen(part): part.eval()`, it may not have happened.
    const bool certain = event.guard == nullptr || under(forward, event.guard);
    return certain && event.callee == ".eval" && only_evaluates(trace, event);
  }
  return false;
}

// torch.set_grad_enabled(...) as a statement of its own.
bool switched_off(const Trace& trace, const Event& forward) {
  for (std::uint32_t i = forward.index; i-- > 0;) {
    const Event& event = trace.events[i];
    if (event.callee != "torch.set_grad_enabled") continue;
    const Object* on = event.argument("mode", 0);
    return on == nullptr || !on->is_true();
  }
  return false;
}

bool switches_gradients_off(std::string_view text) {
  return contains(text, "no_grad(") || contains(text, "inference_mode(") || contains(text, "set_grad_enabled(False");
}

// A manager that was not sent and is named for it, or one of the files that says so somewhere inside.
bool in_a_quiet_manager(const Program& program, const Event& forward) {
  for (const Context* context = forward.context; context != nullptr; context = context->outer) {
    const std::string_view name = context->callee.substr(context->callee.rfind('.') + 1);
    for (const std::string_view word : {"no_grad", "inference", "eval"}) {
      if (contains_ignoring_case(name, word)) return true;
    }
    for (const Function& known : program.functions()) {
      if (!name.empty() && known.name == name && switches_gradients_off(known.node.text())) return true;
    }
  }
  return false;
}

// @quiet, a class of the files that enters such a manager.
bool has_a_quiet_decorator(const Program& program, const Event& forward) {
  for (const Frame* frame = forward.frame; frame != nullptr; frame = frame->caller) {
    if (frame->function == nullptr) continue;
    for (const std::string_view decorator : frame->function->decorators) {
      if (std::ranges::any_of(program.classes(), [&](const Class& known) {
            return known.name == last_part(decorator) && switches_gradients_off(known.node.text());
          }))
        return true;
    }
  }
  return false;
}

// A method of a base calls it, and switches gradients off: def run(self): with no_grad(): self.eval_step(x)
bool is_called_by_a_base(const Function& method) {
  if (method.of_class == nullptr) return false;
  const std::string call = "self." + std::string(method.name) + "(";
  return std::ranges::any_of(method.of_class->base_classes, [&](const Class* base) {
    return std::ranges::any_of(base->methods, [&](const Function* other) {
      return contains(other->node.text(), call) && switches_gradients_off(other->node.text());
    });
  });
}

// The model's own way to evaluate: whoever calls it decides about gradients.
bool is_of_the_model(const Frame& evaluation) {
  const Class* of = evaluation.function->of_class;
  return of != nullptr && (of->is_module || of->method("forward") != nullptr);
}

// Nobody calls the function that leads to the forward, but something of its name is handed on: who calls it then was
// not sent.
bool is_called_by_others(const Program& program, const Event& forward) {
  for (const Frame* frame = forward.frame; frame != nullptr; frame = frame->caller) {
    if (frame->function != nullptr && frame->call == frame->function->node)
      return program.hands_on(frame->function->name) || is_called_by_a_base(*frame->function);
  }
  return false;
}

// All of it was frozen before: nothing is kept for a backward pass.
bool is_frozen(const Trace& trace, const Event& forward) {
  bool frozen = false;
  for (std::uint32_t i = 0; i < forward.index; ++i) {
    const GradSwitch found = grad_switch(trace.events[i]);
    if (found.module != nullptr && same_model(found.module, forward.subject))
      frozen = core_of(found.module) == core_of(forward.subject) && !found.on.value_or(true);
  }
  return frozen;
}

bool outermost_forward(const Event& event) {
  const bool direct = event.is(EventKind::kForwardMethod) && event.callee == ".forward";
  if ((!direct && !event.is(EventKind::kForward)) || inside_forward(event) || event.subject == nullptr) return false;
  const Object* model = core_of(event.subject);
  // An attribute of a model of which only its name is known may as well be a method.
  const bool member = model->parent != nullptr && model->parent->type == Type::kModel && !model->element;
  return model->type == Type::kModel && (!member || model->of_class != nullptr);
}

}  // namespace

void eval_without_no_grad(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& forward : trace.events) {
      if (!outermost_forward(forward) || forward.pass != 1 || without_grad(forward) || switched_off(trace, forward) ||
          in_a_quiet_manager(program, forward) || is_called_by_others(program, forward) ||
          has_a_quiet_decorator(program, forward) || is_differentiated(trace, forward))
        continue;
      const Place place = place_of(forward);
      if (place.evaluation != nullptr) {
        if (!differentiates(trace, place.evaluation) && !is_of_the_model(*place.evaluation) &&
            !is_frozen(trace, forward))
          findings.at(place.file, place.node);
      } else if (after_eval(trace, forward) && !is_frozen(trace, forward)) {
        findings.at(forward);
      }
    }
  }
}

}  // namespace fx::knowledge::checks
