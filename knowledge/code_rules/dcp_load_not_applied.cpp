#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool is_optimizer(const Object* object) {
  object = core_of(object);
  if (object == nullptr) return false;
  return object->type == Type::kOptimizer ||
         (object->type == Type::kUnknown && object->callee.empty() && contains_ignoring_case(object->name, "opt") &&
          !contains_ignoring_case(object->name, "state"));
}

bool is_own_state(const Object& state) {
  return state.type == Type::kStateDict && state.callee == ".state_dict" && is_optimizer(state.receiver);
}

bool is_gathered_state(const Object& state) {
  if (state.type != Type::kStateDict) return false;
  if (ends_with_part(state.callee, "get_optimizer_state_dict")) return true;
  return ends_with_part(state.callee, "get_state_dict") && is_optimizer(state.receiver);
}

template <class Test>
bool holds(const Object* value, const Test& test, int depth = 0) {
  value = main_of(value);
  if (value == nullptr || depth > 4) return false;
  if (test(*value)) return true;
  if (value->type != Type::kDict && value->type != Type::kSequence) return false;
  for (const auto& [key, member] : value->members) {
    if (holds(member, test, depth + 1)) return true;
  }
  for (const Object* item : value->items) {
    if (holds(item, test, depth + 1)) return true;
  }
  return false;
}

bool stepped_before(const Trace& trace, const Event& load) {
  for (std::uint32_t i = 0; i < load.index; ++i) {
    if (trace.events[i].is(EventKind::kStep)) return true;
  }
  return false;
}

bool sets_state(const Program& program) {
  for (const std::string_view name : {"torch.distributed.checkpoint.state_dict.set_state_dict",
                                      "torch.distributed.checkpoint.state_dict.set_optimizer_state_dict"}) {
    if (program.calls(name)) return true;
  }
  return false;
}

}  // namespace

void dcp_load_not_applied(const Program& program, Findings& findings) {
  const bool sets = sets_state(program);
  for (const Trace& trace : program.traces()) {
    for (const Event& load : trace.events) {
      if (!load.is(EventKind::kDcpLoad) || load.arguments == nullptr) continue;
      const Object* state = load.arguments->get("state_dict", 0);
      if (holds(state, is_own_state) && !stepped_before(trace, load)) {
        findings.at(load, "The optimizer's state dict is empty before its first step, so nothing is read for it.");
      } else if (!sets && holds(state, is_gathered_state)) {
        findings.at(load, "The dict that is filled here never goes back through set_state_dict.");
      }
    }
  }
}

}  // namespace fx::knowledge::checks
