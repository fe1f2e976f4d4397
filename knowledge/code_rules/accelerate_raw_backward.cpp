#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool goes_through_accelerate(const Object* receiver) {
  receiver = main_of(receiver);
  if (receiver == nullptr) return true;
  return receiver->type == Type::kAccelerator || receiver->type == Type::kModel || receiver->of_class != nullptr ||
         contains_ignoring_case(receiver->name, "accelerator") || contains_ignoring_case(receiver->name, "engine");
}

// The loss of models none of which accelerate prepared, or one that something else scales.
bool is_another_loop(const Object* loss) {
  bool models = false, prepared = false, scaled = false;
  made_from(loss, [&](const Object& object) {
    models |= object.type == Type::kModel;
    prepared |= object.type == Type::kModel && object.sharding == Sharding::kAccelerate;
    scaled |= ends_with_part(object.callee, "scale_loss");
    return false;
  });
  return scaled || (models && !prepared);
}

// The other way of the same step: `if scaler: scaler.scale(loss).backward() else: accelerator.backward(loss)`.
bool has_another_way(const Trace& trace, const Event& raw) {
  return std::ranges::any_of(trace.events, [&](const Event& other) {
    return other.is(EventKind::kBackward) && other.receiver != nullptr && goes_through_accelerate(other.receiver) &&
           other.pass == raw.pass && !compatible(other, raw);
  });
}

}  // namespace

void accelerate_raw_backward(const Program& program, Findings& findings) {
  if (!program.uses_accelerate()) return;
  for (const Trace& trace : program.traces()) {
    bool prepares = false;
    for (const Event& event : trace.events) prepares |= event.is(EventKind::kPrepare);
    if (!prepares) continue;
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kBackward) && event.callee == ".backward" && !goes_through_accelerate(event.receiver) &&
          !is_another_loop(event.receiver) && !has_another_way(trace, event))
        findings.at(event);
    }
  }
}

}  // namespace fx::knowledge::checks
