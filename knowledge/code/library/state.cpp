// State dicts, distributed checkpoints, files of weights.
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"
#include "knowledge/code/models.h"

namespace fx::knowledge::code {
namespace {

Object* state_of_optimizer(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  value->receiver = call.first;
  return note(run, call, known.kind, call.first, value);
}

Object* state_of_model(Interpreter& run, const Call& call, const Known& known) {
  if (call.first != nullptr) promote(call.first);
  return state_of_optimizer(run, call, known);
}

// The model's and the optimizer's; both halves remember the call.
Object* state_of_both(Interpreter& run, const Call& call, const Known& known) {
  if (call.first != nullptr) promote(call.first);
  Object* of_model = value_of(run, call, known);
  of_model->receiver = call.first;
  Object* of_optimizer = value_of(run, call, known);
  of_optimizer->receiver = main_of(call.argument(1));
  Object* pair = value_of(run, call, {call.name, nullptr, known.kind, Type::kSequence});
  pair->items = {of_model, of_optimizer};
  return note(run, call, known.kind, call.first, pair);
}

Object* load_into(Interpreter& run, const Call& call, const Known& known) {
  if (call.first != nullptr) promote(call.first);
  return about_first(run, call, known);
}

constexpr auto kState = EventKind::kStateDict;
constexpr std::array kFunctions = {
    Known{"torch.distributed.checkpoint.state_dict.get_model_state_dict", state_of_model, kState, Type::kStateDict},
    Known{"torch.distributed.checkpoint.state_dict.get_optimizer_state_dict", state_of_optimizer, kState,
          Type::kStateDict},
    Known{"torch.distributed.checkpoint.state_dict.get_state_dict", state_of_both, kState, Type::kStateDict},
    Known{"torch.distributed.checkpoint.state_dict.set_model_state_dict", load_into, EventKind::kLoadState},
    Known{"torch.distributed.checkpoint.state_dict.set_optimizer_state_dict", load_into, EventKind::kLoadState},
    Known{"torch.distributed.checkpoint.state_dict.set_state_dict", load_into, EventKind::kLoadState},
    Known{"torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict", state_of_model, kState, Type::kStateDict},
    Known{"torch.distributed.fsdp.FullyShardedDataParallel.full_optim_state_dict", state_of_model, kState,
          Type::kStateDict},
    Known{"torch.distributed.checkpoint.save", about_first, EventKind::kDcpSave},
    Known{"torch.distributed.checkpoint.save_state_dict", about_first, EventKind::kDcpSave},
    Known{"torch.distributed.checkpoint.async_save", about_nothing, EventKind::kDcpAsyncSave, Type::kFuture},
    Known{"torch.distributed.checkpoint.load", about_nothing, EventKind::kDcpLoad},
    Known{"torch.distributed.checkpoint.load_state_dict", about_nothing, EventKind::kDcpLoad},
    Known{"torch.save", about_first, EventKind::kSave},
    Known{"safetensors.torch.save_file", about_first, EventKind::kSave},
    Known{"torch.load", about_nothing, EventKind::kLoad, Type::kStateDict},
    Known{"safetensors.torch.load_file", about_nothing, EventKind::kLoad, Type::kStateDict},
};

}  // namespace

std::span<const Known> state_functions() {
  return kFunctions;
}

}  // namespace fx::knowledge::code
