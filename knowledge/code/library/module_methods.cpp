// Methods of nn.Module, its wrappers and its relatives.
#include <algorithm>
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/methods.h"

namespace fx::knowledge::code {
namespace {

constexpr std::array<std::string_view, 26> kOnlyOfModules = {"parameters",
                                                             "named_parameters",
                                                             "modules",
                                                             "named_modules",
                                                             "named_children",
                                                             "buffers",
                                                             "named_buffers",
                                                             "load_state_dict",
                                                             "requires_grad_",
                                                             "to_empty",
                                                             "apply",
                                                             "get_submodule",
                                                             "register_buffer",
                                                             "set_submodule",
                                                             "gradient_checkpointing_enable",
                                                             "set_requires_gradient_sync",
                                                             "no_sync",
                                                             "clip_grad_norm_",
                                                             "reshard",
                                                             "unshard",
                                                             "init_weights",
                                                             "reset_parameters",
                                                             "children",
                                                             "set_reshard_after_backward",
                                                             "enable_input_require_grads",
                                                             "set_is_last_backward"};

// In place: gives the module back.
Object* in_place(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.receiver, call.receiver);
}

Object* plain(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.receiver, value_of(run, call, known));
}

// module.apply(function): once for every part.
Object* apply(Interpreter& run, const Call& call, const Known& known) {
  Object* model = in_place(run, call, known);
  if (call.first == nullptr || (call.first->type != Type::kFunction && call.first->type != Type::kMethod)) return model;
  Object* element = run.make(Type::kModel, call.node);
  element->parent = model;
  element->element = true;
  run.call_object(call.first, run.arguments_of({{"", element, call.node}}), call.node);
  return model;
}

Object* parameters(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  value->items = {call.receiver};
  return note(run, call, known.kind, call.receiver, value);
}

Object* parts(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  value->parent = call.receiver;
  return note(run, call, known.kind, call.receiver, value);
}

// Of a ModuleDict.
Object* items(Interpreter& run, const Call& call, const Known& known) {
  Object* value = parts(run, call, known);
  value->callee = ".named_children";
  return value;
}

Object* values(Interpreter& run, const Call& call, const Known& known) {
  Object* value = parts(run, call, known);
  value->callee = ".children";
  return value;
}

Object* add_part(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  if (Object* part = call.argument(1)) run.set_attribute(call.receiver, "*", part, call.node);
  return note(run, call, known.kind, call.receiver, value);
}

constexpr auto kCall = EventKind::kCall;
constexpr auto kUnknown = Type::kUnknown;
constexpr std::array kInPlace = {
    Known{"to_empty", in_place, EventKind::kToEmpty},
    Known{"compile", in_place, EventKind::kCompile},
    Known{"gradient_checkpointing_enable", in_place, EventKind::kCheckpointWrap},
    Known{"init_weights", in_place, EventKind::kInitWeights},
    Known{"_init_weights", in_place, EventKind::kInitWeights},
    Known{"reset_parameters", in_place, EventKind::kInitWeights},
    Known{"initialize_weights", in_place, EventKind::kInitWeights},
    Known{"post_init", in_place, EventKind::kInitWeights},
    Known{"initialize", in_place, EventKind::kInitWeights},
    Known{"zero_grad", in_place, EventKind::kZeroGrad},
    Known{"set_reshard_after_backward", in_place},
    Known{"set_is_last_backward", in_place},
    Known{"reshard", in_place},
    Known{"unshard", in_place},
    Known{"enable_input_require_grads", in_place},
    Known{"gradient_checkpointing_disable", in_place},
    Known{"register_buffer", in_place},
    Known{"register_parameter", in_place},
    Known{"register_forward_hook", in_place},
    Known{"set_submodule", in_place},
    Known{"apply", apply},
};
constexpr std::array kOthers = {
    Known{"parameters", parameters, kCall, Type::kParameters},
    Known{"named_parameters", parameters, kCall, Type::kParameters},
    Known{"buffers", parameters, kCall, Type::kParameters},
    Known{"named_buffers", parameters, kCall, Type::kParameters},
    Known{"modules", parts, kCall, Type::kModel},
    Known{"children", parts, kCall, Type::kModel},
    Known{"get_submodule", parts, kCall, Type::kModel},
    Known{"named_modules", plain},
    Known{"named_children", plain},
    Known{"items", items},
    Known{"values", values, kCall, Type::kModel},
    Known{"set_requires_gradient_sync", plain, EventKind::kGradSync},
    Known{"no_sync", plain},
    Known{"clip_grad_norm_", plain, EventKind::kClip, kUnknown, kReduced},
    Known{"clip_grad_value_", plain, EventKind::kClip, kUnknown, kReduced},
    Known{"state_dict", plain, EventKind::kStateDict, Type::kStateDict},
    Known{"load_state_dict", plain, EventKind::kLoadState},
    Known{"save_pretrained", plain, EventKind::kSave},
    Known{"save_model", plain, EventKind::kSave},
    Known{"push_to_hub", plain, EventKind::kSave},
    Known{"generate", plain, EventKind::kGenerate, kUnknown, kLocal},
    Known{"forward", plain, EventKind::kForwardMethod, kUnknown, kLocal},
    Known{"register_module", add_part},
    Known{"add_module", add_part},
    Known{"append", add_part},
};

}  // namespace

bool shows_module(const Call& call) {
  if (std::ranges::find(kOnlyOfModules, call.name) == kOnlyOfModules.end()) return false;
  // Optimizers and schedulers have these too.
  const bool shared = call.name == "load_state_dict" || call.name == "apply" || call.name == "to_empty";
  return !shared || kind_of_step(*call.receiver) == EventKind::kCall;
}

Object* call_module_method(Interpreter& run, const Call& call) {
  static const CallTable table = {kInPlace, kOthers, methods_that_give_back()};
  if (Object* done = table.call(run, call)) return done;
  if (call.name == "backward" || call.name == "step") return nullptr;  // a loss or an engine taken for a module
  return plain(run, call, {call.name, plain, EventKind::kForwardMethod, kUnknown, kLocal});
}

}  // namespace fx::knowledge::code
