// Methods of accelerate's Accelerator and Lightning's Fabric.
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/methods.h"
#include "knowledge/code/models.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

// prepare(...): shards the models in place, gives everything back in order.
Object* prepare(Interpreter& run, const Call& call, const Known& known) {
  Object* all = run.make(Type::kSequence, call.node);
  all->callee = ".prepare";
  all->made_by = &call.given;
  const Object* subject = call.argument(0);
  for (const Argument& argument : call.given.list) {
    Object* item = main_of(argument.value);
    if (item->type == Type::kModel) {
      item->sharding = item->sharding == Sharding::kNone ? Sharding::kAccelerate : item->sharding;
      subject = argument.value;
    }
    if (argument.name == "*" || argument.name == "**") all->element = true;
    all->items.push_back(argument.value);
    item->taints = static_cast<Taints>(item->taints & ~kUneven);
  }
  run.emit(known.kind, ".prepare", call.node, &call.given, subject, call.receiver, all);
  return all->items.size() == 1 && !all->element ? all->items.front() : all;
}

Object* clip(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of_method(run, call, known);
  return note(run, call, known.kind, call.first == nullptr ? nullptr : model_in(call.first), value);
}

Object* of_all(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, nullptr, value_of_method(run, call, known));
}

Object* of_first(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.first, value_of_method(run, call, known));
}

Object* unwrap(Interpreter& run, const Call& call, const Known& known) {
  Object* first = call.first;
  Object* value = value_of_method(run, call, known);
  note(run, call, known.kind, first, first);
  if (first == nullptr) return value;
  if (first->type != Type::kModel) return first;
  value->type = Type::kModel;
  value->wrapped = const_cast<Object*>(core_of(first));
  value->parent = first->parent;
  return value;
}

constexpr auto kCollective = EventKind::kCollective;
constexpr auto kUnknown = Type::kUnknown;
constexpr std::array kMethods = {
    Known{"prepare", prepare, EventKind::kPrepare},
    Known{"prepare_model", prepare, EventKind::kPrepare},
    Known{"setup", prepare, EventKind::kPrepare},
    Known{"setup_dataloaders", prepare, EventKind::kPrepare},
    Known{"clip_grad_norm_", clip, EventKind::kClip, kUnknown, kReduced},
    Known{"clip_grad_value_", clip, EventKind::kClip, kUnknown, kReduced},
    Known{"wait_for_everyone", of_all, kCollective},
    Known{"barrier", of_all, kCollective},
    Known{"gather", of_first, kCollective, kUnknown, kReduced},
    Known{"gather_for_metrics", of_first, kCollective, kUnknown, kReduced},
    Known{"reduce", of_first, kCollective, kUnknown, kReduced},
    Known{"pad_across_processes", of_first, kCollective, kUnknown, kReduced},
    Known{"all_reduce", of_first, kCollective, kUnknown, kReduced},
    Known{"all_gather", of_first, kCollective, kUnknown, kReduced},
    Known{"broadcast", of_first, kCollective, kUnknown, kReduced},
    Known{"get_state_dict", of_first, EventKind::kStateDict, Type::kStateDict},
    Known{"unwrap_model", unwrap},
    Known{"save_state", of_all, kCollective},
    Known{"load_state", of_all, kCollective},
    Known{"save", of_first, EventKind::kSave},
    Known{"save_model", of_first, EventKind::kSave},
};

}  // namespace

bool is_accelerator(const Object& object) {
  return object.type == Type::kAccelerator ||
         (object.of_class == nullptr && mentions(object.name, {"accelerator", "fabric"}));
}

Object* call_accelerator_method(Interpreter& run, const Call& call) {
  static const CallTable table = {kMethods};
  if (Object* done = table.call(run, call)) return done;
  return of_first(run, call, Known{call.name, of_first});
}

}  // namespace fx::knowledge::code
