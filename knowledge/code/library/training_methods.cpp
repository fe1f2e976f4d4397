// The steps of training, whatever object has them: backward, step, the scaler's, the sampler's epoch, the rank.
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/methods.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

Object* manual_backward(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.first != nullptr ? call.first : call.receiver,
              value_of_method(run, call, known));
}

// scaler.step(optimizer) and engine.step(optimizer) are the optimizer's.
Object* step(Interpreter& run, const Call& call, const Known& known) {
  const Object* first = call.first;
  const bool of_first = first != nullptr && (first->type == Type::kOptimizer || call.receiver->type == Type::kScaler ||
                                             mentions(first->name, {"opt"}));
  const EventKind kind = kind_of_step(*call.receiver);
  return note(run, call, kind, of_first ? first : call.receiver, value_of_method(run, call, known));
}

Object* unscale(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.first, value_of_method(run, call, known));
}

Object* update(Interpreter& run, const Call& call, const Known& known) {
  const bool of_scaler = call.receiver->type == Type::kScaler || mentions(call.receiver->name, {"scaler"});
  return of_scaler ? of_receiver(run, call, known) : nullptr;
}

// Of several optimizers or models, one or the other by path: each is cleared.
Object* zero_grad(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of_method(run, call, known);
  for (const Object* one : alternatives(call.whole)) {
    if (one != call.receiver && (one->type == Type::kOptimizer || one->type == Type::kModel))
      note(run, call, known.kind, one, value);
  }
  return note(run, call, known.kind, call.receiver, value);
}

// The scaled loss is still the loss.
Object* scale(Interpreter& run, const Call& call, const Known& known) {
  if (call.first == nullptr) return nullptr;
  Object* value = value_of_method(run, call, known);
  value->name = call.first->name;
  return note(run, call, known.kind, call.receiver, value);
}

// group.rank() of a process group; a matrix has a rank too.
Object* rank_in_group(Interpreter& run, const Call& call, const Known& known) {
  return mentions(call.receiver->name, {"group", "mesh", "comm"}) ? of_receiver(run, call, known) : nullptr;
}

constexpr auto kCall = EventKind::kCall;
constexpr std::array kMethods = {
    Known{"backward", of_receiver, EventKind::kBackward},
    Known{"manual_backward", manual_backward, EventKind::kBackward},
    Known{"step", step, EventKind::kStep, Type::kUnknown, kReduced},
    Known{"zero_grad", zero_grad, EventKind::kZeroGrad},
    Known{"unscale_", unscale, EventKind::kUnscale},
    Known{"update", update, EventKind::kScalerUpdate},
    Known{"scale", scale},
    Known{"set_epoch", of_receiver, EventKind::kSetEpoch},
    Known{"rank", rank_in_group, kCall, Type::kNumber, kRank},
    Known{"get_rank", of_receiver, kCall, Type::kNumber, kRank},
    Known{"get_local_rank", of_receiver, kCall, Type::kNumber, kRank},
    Known{"get_group_rank", of_receiver, kCall, Type::kNumber, kRank},
    Known{"is_world_process_zero", of_receiver, kCall, Type::kBool, kRank},
    Known{"is_local_process_zero", of_receiver, kCall, Type::kBool, kRank},
    Known{"is_main_process", of_receiver, kCall, Type::kBool, kRank},
    Known{"is_rank_zero", of_receiver, kCall, Type::kBool, kRank},
};

}  // namespace

EventKind kind_of_step(const Object& object) {
  if (object.type == Type::kOptimizer || object.type == Type::kScaler) return EventKind::kStep;
  if (object.type == Type::kScheduler) return EventKind::kSchedulerStep;
  if (object.of_class != nullptr) return EventKind::kCall;
  if (mentions(object.name, {"sched", "warmup", "warm_up"}) && !mentions(object.name, {"noise", "ddpm"}))
    return EventKind::kSchedulerStep;
  return mentions(object.name, {"opt", "scaler"}) ? EventKind::kStep : EventKind::kCall;
}

Object* call_training_method(Interpreter& run, const Call& call) {
  static const CallTable table = {kMethods};
  return table.call(run, call);
}

}  // namespace fx::knowledge::code
