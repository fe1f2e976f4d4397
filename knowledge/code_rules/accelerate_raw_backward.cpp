#include "base/text.h"
#include "knowledge/code_rules/checks.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool goes_through_accelerate(const Object* receiver) {
  receiver = main_of(receiver);
  if (receiver == nullptr) return true;
  return receiver->type == Type::kAccelerator || receiver->type == Type::kModel || receiver->of_class != nullptr ||
         contains_ignoring_case(receiver->name, "accelerator") || contains_ignoring_case(receiver->name, "engine");
}

}  // namespace

void accelerate_raw_backward(const Program& program, Findings& findings) {
  if (!program.uses_accelerate()) return;
  for (const Trace& trace : program.traces()) {
    bool prepares = false;
    for (const Event& event : trace.events) prepares |= event.is(EventKind::kPrepare);
    if (!prepares) continue;
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kBackward) && event.callee == ".backward" && !goes_through_accelerate(event.receiver))
        findings.at(event);
    }
  }
}

}  // namespace fx::knowledge::checks
