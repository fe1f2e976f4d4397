#include "knowledge/code_rules/freezing.h"

#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge {

using namespace code;

GradSwitch grad_switch(const Event& event) {
  const bool method = event.callee == ".requires_grad_";
  const bool set = event.is(EventKind::kSetAttribute) && event.callee == "requires_grad";
  if (!method && !set) return {};
  GradSwitch found;
  const Object* parameter = parameter_behind(event.receiver);
  if (parameter != nullptr)
    found.module = model_of_parameter(parameter);
  else if (method && event.subject != nullptr && event.subject->type == Type::kModel)
    found.module = event.subject;
  const Object* value = method ? event.argument("requires_grad", 0) : event.argument("", 0);
  if ((method && value == nullptr) || (value != nullptr && value->is_true())) found.on = true;
  if (value != nullptr && value->is_false()) found.on = false;
  return found;
}

bool sets_requires_grad(const Event& event, const Object* model, bool on) {
  const GradSwitch found = grad_switch(event);
  return same_model(found.module, model) && found.on.value_or(false) == on;
}

}  // namespace fx::knowledge
