#include "knowledge/code/library/methods.h"

#include <algorithm>

#include "knowledge/code/library/library.h"
#include "knowledge/code/models.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {

Object* value_of_method(Interpreter& run, const Call& call, const Known& known) {
  auto taints = static_cast<Taints>((call.whole->taints | taints_of(call.given)) & ~(kEndless | kStepCount));
  // A record that is only reported does not make the answer this rank's own: on_log(args, state, logs).
  const bool local = std::ranges::any_of(call.given.list, [](const Argument& argument) {
    return argument.value->has(kLocal) && main_of(argument.value)->type != Type::kDict;
  });
  if (!local && !call.whole->has(kLocal)) taints = static_cast<Taints>(taints & ~kLocal);
  Object* value = value_of(run, call, known);
  value->taints = known.taints.value_or(taints);
  return value;
}

Object* of_receiver(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.receiver, value_of_method(run, call, known));
}

Object* call_foreign_method(Interpreter& run, Object* whole, std::string_view name, Arguments& given, Node node) {
  Object* receiver = main_of(whole);
  const Call call = {name,
                     run.method_name(name),
                     given,
                     node,
                     whole,
                     receiver,
                     given.list.empty() ? nullptr : main_of(given.list.front().value)};
  if (receiver->type == Type::kSequence || receiver->type == Type::kDict) return call_sequence_method(run, call);
  if (receiver->type == Type::kText || (receiver->type == Type::kNumber && name != "item"))
    return call_text_method(run, call);
  if (receiver->type == Type::kUnknown && shows_module(call)) promote(receiver);
  if (receiver->type == Type::kModel) {
    if (Object* done = call_module_method(run, call)) return done;
  }
  if (Object* done = call_training_method(run, call)) return done;
  if (receiver->type == Type::kMesh) return call_mesh_method(run, call);
  if (is_accelerator(*receiver)) return call_accelerator_method(run, call);
  return call_object_method(run, call);
}

}  // namespace fx::knowledge::code
