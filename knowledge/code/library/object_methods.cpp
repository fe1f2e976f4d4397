// Methods of tensors, meshes, data, and of objects about which nothing is known.
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"
#include "knowledge/code/library/methods.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

// What decides how many items there are does not reach the items, and what a helper was told does not reach its answer.
Object* answer(Interpreter& run, const Call& call, EventKind kind, Object* value) {
  note(run, call, kind, call.receiver, value);
  const Object& object = *call.receiver;
  const bool computes = object.element || object.has(kLocal) || object.callee.starts_with("torch.");
  if ((taints_of(call.given) & kRank) != 0 && !computes)
    value->taints = static_cast<Taints>(opaque_taints(call.name, taints_of(call.given)) |
                                        (call.whole->taints & (kLocal | kUneven | kRank)));
  return value;
}

Object* any(Interpreter& run, const Call& call, const Known& known) {
  return answer(run, call, known.kind, value_of_method(run, call, known));
}

// stack.enter_context(torch.no_grad())
Object* enter_context(Interpreter& run, const Call& call, const Known& known) {
  if (call.first == nullptr) return nullptr;
  note(run, call, known.kind, call.receiver, call.argument(0));
  run.enter(*call.first, call.node);
  return call.argument(0);
}

Object* enter(Interpreter& run, const Call& call, const Known& known) {
  note(run, call, known.kind, call.receiver, call.whole);
  run.enter(*call.receiver, call.node);
  return call.whole;
}

Object* leave(Interpreter& run, const Call& call, const Known& known) {
  run.leave(*call.receiver);
  return any(run, call, known);
}

// meter.extend(losses(net, batches)): the generator runs here.
Object* take_all(Interpreter& run, const Call& call, const Known& known) {
  for (const Argument& argument : call.given.list) run.consume(argument.value, call.node);
  return any(run, call, known);
}

// Data in another order or form.
Object* arranged(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of_method(run, call, known);
  value->name = call.receiver->name;
  value->taints = static_cast<Taints>(call.whole->taints & (kRank | kLocal | kUneven));
  return answer(run, call, known.kind, value);
}

Object* generate(Interpreter& run, const Call& call, const Known& known) {
  Object* value = of_receiver(run, call, known);
  value->taints |= kLocal;
  return value;
}

Object* await_result(Interpreter& run, const Call& call, const Known& known) {
  if (call.receiver->type != Type::kFuture && call.receiver->type != Type::kUnknown) return nullptr;
  return of_receiver(run, call, known);
}

Object* await_or_wait(Interpreter& run, const Call& call, const Known& known) {
  if (Object* done = await_result(run, call, known)) return done;
  return any(run, call, Known{call.name, any, EventKind::kCall, Type::kUnknown, Taints{0}});
}

// The same object is meant afterwards.
Object* in_place(Interpreter& run, const Call& call, const Known& known) {
  of_receiver(run, call, known);
  return call.whole;
}

constexpr auto kCall = EventKind::kCall;
constexpr std::array kState = {
    Known{"full_tensor", of_receiver, EventKind::kStateDict, Type::kUnknown, kReduced},
    Known{"state_dict", of_receiver, EventKind::kStateDict, Type::kStateDict},
    Known{"load_state_dict", of_receiver, EventKind::kLoadState},
    Known{"save_pretrained", of_receiver, EventKind::kSave},
    Known{"save_model", of_receiver, EventKind::kSave},
    Known{"generate", generate, EventKind::kGenerate},
    Known{"result", await_result, EventKind::kAwait},
    Known{"wait", await_or_wait, EventKind::kAwait},
};
constexpr std::array kValues = {
    Known{"enter_context", enter_context},
    Known{"__enter__", enter},
    Known{"__exit__", leave},
    Known{"extend", take_all},
    Known{"update", take_all},
    Known{"shuffle", arranged},
    Known{"batch", arranged},
    Known{"map", arranged},
    Known{"repeat", arranged},
    Known{"numel", any, kCall, Type::kNumber},
    Known{"size", any, kCall, Type::kNumber},
    Known{"dim", any, kCall, Type::kNumber},
    Known{"__len__", any, kCall, Type::kNumber},
    Known{"item", any, kCall, Type::kNumber},
    Known{"synchronize", any, kCall, Type::kUnknown, Taints{0}},
    Known{"log", any, kCall, Type::kUnknown, Taints{0}},
    Known{"add_scalar", any, kCall, Type::kUnknown, Taints{0}},
    Known{"info", any, kCall, Type::kUnknown, Taints{0}},
    Known{"warning", any, kCall, Type::kUnknown, Taints{0}},
};
constexpr std::array kSame = {
    Known{"apply", in_place}, Known{"contiguous", in_place}, Known{"pin_memory", in_place}, Known{"zero_", in_place},
    Known{"fill_", in_place}, Known{"copy_", in_place},      Known{"add_", in_place},       Known{"sub_", in_place},
    Known{"mul_", in_place},  Known{"div_", in_place},       Known{"clamp_", in_place},     Known{"lerp_", in_place},
};

}  // namespace

Object* call_object_method(Interpreter& run, const Call& call) {
  static const CallTable table = {kState, kValues, kSame, methods_that_give_back()};
  if (Object* done = table.call(run, call)) return done;
  if (is_named_for_reducing(call.name))
    return of_receiver(run, call, Known{call.name, of_receiver, kCall, Type::kUnknown, kReduced});
  return any(run, call, Known{call.name, any});
}

Object* call_mesh_method(Interpreter& run, const Call& call) {
  const Type type = call.name == "size" || call.name == "ndim" ? Type::kNumber
                    : call.name == "get_group"                 ? Type::kUnknown
                                                               : Type::kMesh;
  Object* value = value_of(run, call, {call.name, nullptr, EventKind::kCall, type, kWorld});
  value->parent = call.receiver;
  return note(run, call, EventKind::kCall, call.receiver, value);
}

}  // namespace fx::knowledge::code
