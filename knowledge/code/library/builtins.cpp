// Functions of Python itself: conversions, attributes, objects.
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

Object* base_class(Interpreter& run, const Call& call, const Known&) {
  Object* value = run.external("super", call.node);
  value->callee = "super";
  return value;
}

Object* dictionary(Interpreter& run, const Call& call, const Known& known) {
  // dict(model.named_parameters()): any of them by its name.
  if (call.first != nullptr && call.first->type == Type::kParameters) {
    note(run, call, EventKind::kCall, call.first, call.first);
    return call.first;
  }
  if (call.first != nullptr) run.consume(call.first, call.node);
  Object* value = value_of(run, call, known);
  for (const Argument& argument : call.given.list) {
    if (!argument.name.empty())
      value->members.emplace_back(argument.name, argument.value);
    else
      value->members = main_of(argument.value)->members;
    value->taints |= argument.value->taints;
  }
  return note(run, call, EventKind::kCall, call.first, value);
}

Object* set_attribute(Interpreter& run, const Call& call, const Known&) {
  if (call.given.list.size() < 3) return nullptr;
  const Object* key = main_of(call.argument(1));
  run.set_attribute(call.argument(0), key->constant ? key->name : std::string_view("*"), call.argument(2), call.node);
  return note(run, call, EventKind::kCall, call.first, run.none());
}

Object* get_attribute(Interpreter& run, const Call& call, const Known&) {
  if (call.given.list.size() < 2) return nullptr;
  const Object* key = main_of(call.argument(1));
  note(run, call, EventKind::kCall, call.first, nullptr);
  if (key->type == Type::kText && key->constant) return run.attribute(call.argument(0), key->name, call.node);
  Object* some = run.unknown(call.node);
  some->made_by = &call.given;
  return some;
}

Object* partial(Interpreter& run, const Call& call, const Known& known) {
  if (call.first == nullptr) return nullptr;
  Object* value = value_of(run, call, known);
  value->receiver = call.first;
  value->name = call.first->name;
  return note(run, call, EventKind::kCall, call.first, value);
}

// sum(losses(net, batches)): the generator runs here, and what it gives decides.
Object* reduced(Interpreter& run, const Call& call, const Known& known) {
  Arguments& given = run.arguments_of();
  for (const Argument& argument : call.given.list)
    given.list.push_back({argument.name, run.consume(argument.value, call.node), argument.node});
  Object* value = value_of(run, call, known);
  value->made_by = &given;
  value->taints = known.taints.value_or(taints_of(given));
  return note(run, call, EventKind::kCall, call.first, value);
}

// Depends on its arguments, unless the row says otherwise.
Object* computed(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  value->taints = known.taints.value_or(taints_of(call.given));
  return note(run, call, EventKind::kCall, call.first, value);
}

// Another form of its first argument: the same thing under the same name.
Object* form_of_first(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  value->taints = taints_of(call.given);
  if (call.first == nullptr) return value;
  value->identity = call.first->identity;
  value->name = call.first->name;
  return value;
}

Object* integer(Interpreter& run, const Call& call, const Known& known) {
  Object* value = form_of_first(run, call, known);
  const Object* first = call.first;
  if (first != nullptr && first->constant) {
    const auto parsed = first->type == Type::kText ? to_number(first->name) : std::optional(first->number);
    if (parsed) {
      value->number = *parsed;
      value->constant = true;
    }
  }
  return note(run, call, EventKind::kCall, first, value);
}

Object* text(Interpreter& run, const Call& call, const Known& known) {
  Object* value = form_of_first(run, call, known);
  const Object* first = call.first;
  if (first != nullptr) value->constant = first->constant && first->type == Type::kText;
  return note(run, call, EventKind::kCall, first, value);
}

constexpr auto kCall = EventKind::kCall;
constexpr std::array kFunctions = {
    Known{"super", base_class},
    Known{"dict", dictionary, kCall, Type::kDict},
    Known{"collections.OrderedDict", dictionary, kCall, Type::kDict},
    Known{"setattr", set_attribute},
    Known{"getattr", get_attribute},
    Known{"functools.partial", partial, kCall, Type::kPartial},
    Known{"int", integer, kCall, Type::kNumber},
    Known{"str", text, kCall, Type::kText},
    Known{"repr", computed, kCall, Type::kText},
    Known{"format", computed, kCall, Type::kText},
    Known{"float", computed, kCall, Type::kNumber},
    Known{"sum", reduced, kCall, Type::kNumber},
    Known{"abs", computed, kCall, Type::kNumber},
    Known{"round", computed, kCall, Type::kNumber},
    Known{"min", reduced, kCall, Type::kNumber},
    Known{"max", reduced, kCall, Type::kNumber},
    Known{"bool", computed, kCall, Type::kBool},
    Known{"any", reduced, kCall, Type::kBool},
    Known{"all", reduced, kCall, Type::kBool},
    Known{"divmod", computed, kCall, Type::kBool},
    Known{"hash", computed, kCall, Type::kBool},
    Known{"hasattr", computed, kCall, Type::kBool, Taints{0}},
    Known{"isinstance", computed, kCall, Type::kBool, Taints{0}},
    Known{"type", computed, kCall, Type::kUnknown, Taints{0}},
    Known{"os.path.join", computed, kCall, Type::kText},
};

}  // namespace

std::span<const Known> builtin_functions() {
  return kFunctions;
}

Object* path_function(Interpreter& run, const Call& call) {
  if (!call.name.starts_with("os.path.")) return nullptr;
  return computed(run, call, Known{call.name, computed});
}

}  // namespace fx::knowledge::code
