#include "knowledge/code/library/call.h"

#include <stdexcept>
#include <string>

#include "knowledge/code/interpreter.h"

namespace fx::knowledge::code {

Object* Call::argument(std::size_t index) const {
  return index < given.list.size() ? given.list[index].value : nullptr;
}

CallTable::CallTable(std::initializer_list<std::span<const Known>> lists) {
  for (const auto& list : lists) {
    for (const Known& known : list) {
      if (!rows_.emplace(known.name, &known).second)
        throw std::logic_error("two rows of a call table are named " + std::string(known.name));
    }
  }
}

Object* CallTable::call(Interpreter& run, const Call& call) const {
  const auto found = rows_.find(call.name);
  return found == rows_.end() ? nullptr : found->second->handler(run, call, *found->second);
}

Object* value_of(Interpreter& run, const Call& call, const Known& known) {
  Object* value = run.make(known.type, call.node);
  value->taints = known.taints.value_or(Taints{0});
  value->callee = call.callee;
  value->made_by = &call.given;
  value->receiver = call.receiver;
  return value;
}

Object* note(Interpreter& run, const Call& call, EventKind kind, const Object* subject, Object* value) {
  run.emit(kind, call.callee, call.node, &call.given, subject, call.receiver, value);
  return value;
}

Object* about_nothing(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, nullptr, value_of(run, call, known));
}

Object* about_first(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.first, value_of(run, call, known));
}

}  // namespace fx::knowledge::code
