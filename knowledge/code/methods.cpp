#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool named_like(const Object* object, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (contains_ignoring_case(object->name, part)) return true;
  }
  return false;
}

// Methods of nn.Module and of the wrappers that only a module has: to call one makes an unknown thing a module.
constexpr std::array<std::string_view, 26> kModuleMethods = {"parameters",
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

constexpr std::array<std::string_view, 11> kMoves = {"to",     "cuda", "cpu", "half", "float",       "bfloat16",
                                                     "double", "xpu",  "npu", "type", "share_memory"};

// Keep their receiver: the same object is meant afterwards.
constexpr std::array<std::string_view, 22> kSelf = {
    "eval",   "train", "requires_grad_", "zero_", "fill_",    "copy_",  "add_",  "mul_",       "to",
    "cuda",   "cpu",   "half",           "float", "bfloat16", "double", "apply", "contiguous", "pin_memory",
    "clamp_", "div_",  "lerp_",          "sub_"};

EventKind kind_of_step(const Object* receiver) {
  if (receiver->type == Type::kOptimizer) return EventKind::kStep;
  if (receiver->type == Type::kScheduler) return EventKind::kSchedulerStep;
  if (receiver->type == Type::kScaler) return EventKind::kStep;
  if (receiver->of_class != nullptr) return EventKind::kCall;
  if (named_like(receiver, {"sched", "warmup", "warm_up"}) && !named_like(receiver, {"noise", "ddpm"}))
    return EventKind::kSchedulerStep;
  if (named_like(receiver, {"opt", "scaler"})) return EventKind::kStep;
  return EventKind::kCall;
}

}  // namespace

Object* Interpreter::method_call(Object* whole, std::string_view name, Arguments& given, Node node) {
  Object* receiver = main_of(whole);
  const std::string_view callee = program_.intern("." + std::string(name));
  Object* first = given.list.empty() ? nullptr : main_of(given.list.front().value);
  if (receiver->type == Type::kSequence || receiver->type == Type::kDict)
    return sequence_method(whole, name, given, node);
  if (receiver->type == Type::kText || (receiver->type == Type::kNumber && name != "item"))
    return text_method(whole, name, given, node);
  if (std::ranges::find(kModuleMethods, name) != kModuleMethods.end() && receiver->type == Type::kUnknown &&
      !((name == "load_state_dict" || name == "apply" || name == "to_empty") &&
        kind_of_step(receiver) != EventKind::kCall))
    promote(receiver);
  if (receiver->type == Type::kModel) {
    if (Object* done = model_method(receiver, name, given, node)) return done;
  }
  auto taints = static_cast<Taints>((whole->taints | taints_of(given)) & ~(kEndless | kStepCount));
  // A record that is only reported does not make the answer this rank's own: on_log(args, state, logs).
  const bool plain = std::ranges::any_of(given.list, [](const Argument& argument) {
    return argument.value->has(kLocal) && main_of(argument.value)->type != Type::kDict;
  });
  if (!plain && !whole->has(kLocal)) taints = static_cast<Taints>(taints & ~kLocal);
  Object* result = make(Type::kUnknown, node);
  result->taints = taints;
  result->callee = callee;
  result->made_by = &given;
  result->receiver = receiver;
  const auto done = [&](EventKind kind, const Object* subject) {
    emit(kind, callee, node, &given, subject, receiver, result);
    return result;
  };
  if (name == "backward" || name == "manual_backward")
    return done(EventKind::kBackward, first != nullptr && name == "manual_backward" ? first : receiver);
  if (name == "step") {
    const EventKind kind = kind_of_step(receiver);
    const bool by_scaler = first != nullptr && (first->type == Type::kOptimizer || receiver->type == Type::kScaler ||
                                                named_like(first, {"opt"}));
    result->taints = kReduced;
    return done(kind, by_scaler ? first : receiver);
  }
  if (name == "zero_grad") {
    for (const Object* one : alternatives(whole)) {
      if (one != receiver && one->type == Type::kOptimizer) done(EventKind::kZeroGrad, one);
    }
    return done(EventKind::kZeroGrad, receiver);
  }
  if (name == "unscale_") return done(EventKind::kUnscale, first);
  if (name == "update" && (receiver->type == Type::kScaler || named_like(receiver, {"scaler"})))
    return done(EventKind::kScalerUpdate, receiver);
  if (name == "scale" && first != nullptr) {
    result->name = first->name;
    return done(EventKind::kCall, receiver);
  }
  if (name == "set_epoch") return done(EventKind::kSetEpoch, receiver);
  if (name == "get_rank" || name == "get_local_rank" || name == "get_group_rank") {
    result->type = Type::kNumber;
    result->taints = kRank;
    return done(EventKind::kCall, receiver);
  }
  if (name == "is_world_process_zero" || name == "is_local_process_zero" || name == "is_main_process" ||
      name == "is_rank_zero") {
    result->type = Type::kBool;
    result->taints = kRank;
    return done(EventKind::kCall, receiver);
  }
  if (receiver->type == Type::kMesh) {
    result->type = name == "size" || name == "ndim" ? Type::kNumber
                   : name == "get_group"            ? Type::kUnknown
                                                    : Type::kMesh;
    result->taints = kWorld;
    result->parent = receiver;
    return done(EventKind::kCall, receiver);
  }
  if (receiver->type == Type::kAccelerator ||
      (named_like(receiver, {"accelerator", "fabric"}) && receiver->of_class == nullptr)) {
    if (name == "prepare" || name == "prepare_model" || name == "setup" || name == "setup_dataloaders")
      return prepare(receiver, given, node);
    if (name == "clip_grad_norm_" || name == "clip_grad_value_") {
      result->taints = kReduced;
      return done(EventKind::kClip, first == nullptr ? nullptr : model_in(first));
    }
    if (name == "wait_for_everyone" || name == "barrier") return done(EventKind::kCollective, nullptr);
    if (one_of(name, {"gather", "gather_for_metrics", "reduce", "pad_across_processes", "all_reduce", "all_gather",
                      "broadcast"})) {
      result->taints = kReduced;
      return done(EventKind::kCollective, first);
    }
    if (name == "get_state_dict") {
      result->type = Type::kStateDict;
      return done(EventKind::kStateDict, first);
    }
    if (name == "unwrap_model") {
      emit(EventKind::kCall, callee, node, &given, first, receiver, first);
      if (first == nullptr || first->type != Type::kModel) return first == nullptr ? result : first;
      result->type = Type::kModel;
      result->wrapped = const_cast<Object*>(core_of(first));
      result->parent = main_of(first)->parent;
      return result;
    }
    if (name == "save_state" || name == "load_state") return done(EventKind::kCollective, nullptr);
    if (name == "save" || name == "save_model") return done(EventKind::kSave, first);
    return done(EventKind::kCall, first);
  }
  if (receiver->type == Type::kFuture || ((name == "result" || name == "wait") && receiver->type == Type::kUnknown))
    if (one_of(name, {"result", "wait"})) return done(EventKind::kAwait, receiver);
  if (name == "full_tensor") {
    result->taints = static_cast<Taints>(kReduced);
    return done(EventKind::kStateDict, receiver);
  }
  if (name == "state_dict") {
    result->type = Type::kStateDict;
    return done(EventKind::kStateDict, receiver);
  }
  if (name == "load_state_dict") return done(EventKind::kLoadState, receiver);
  if (name == "save_pretrained" || name == "save_model") return done(EventKind::kSave, receiver);
  if (name == "generate") {
    result->taints |= kLocal;
    return done(EventKind::kGenerate, receiver);
  }
  if (name == "shuffle" || name == "batch" || name == "map" || name == "repeat") {
    result->name = receiver->name;
    result->taints = static_cast<Taints>(whole->taints & (kRank | kLocal | kUneven));
  }
  if (name == "numel" || name == "size" || name == "dim" || name == "__len__") result->type = Type::kNumber;
  if (name == "item" || name == "tolist") result->type = name == "item" ? Type::kNumber : Type::kUnknown;
  // What decides how many items there are does not reach the items, and what a helper was told does not reach its
  // answer.
  if (one_of(name, {"wait", "synchronize", "log", "add_scalar", "info", "warning"})) result->taints = 0;
  if (std::ranges::find(kMoves, name) != kMoves.end()) {
    emit(EventKind::kMove, callee, node, &given, receiver, receiver, receiver);
    return whole;
  }
  emit(name == "train" || name == "eval" ? EventKind::kTrainMode : EventKind::kCall, callee, node, &given, receiver,
       receiver, result);
  if (std::ranges::find(kSelf, name) != kSelf.end()) return whole;
  const bool computes = receiver->element || receiver->has(kLocal) || receiver->callee.starts_with("torch.");
  if ((taints_of(given) & kRank) != 0 && !computes)
    result->taints =
        static_cast<Taints>(opaque_taints(name, taints_of(given)) | (whole->taints & (kLocal | kUneven | kRank)));
  return result;
}

// nullptr: not one of a module's own methods.
Object* Interpreter::model_method(Object* model, std::string_view name, Arguments& given, Node node) {
  const std::string_view callee = program_.intern("." + std::string(name));
  Object* first = given.list.empty() ? nullptr : main_of(given.list.front().value);
  const auto same = [&](EventKind kind) {
    emit(kind, callee, node, &given, model, model, model);
    return model;
  };
  if (std::ranges::find(kMoves, name) != kMoves.end()) return same(EventKind::kMove);
  if (name == "train" || name == "eval") return same(EventKind::kTrainMode);
  if (name == "to_empty") return same(EventKind::kToEmpty);
  if (name == "compile") return same(EventKind::kCompile);
  if (name == "gradient_checkpointing_enable") return same(EventKind::kCheckpointWrap);
  if (one_of(name,
             {"init_weights", "reset_parameters", "_init_weights", "initialize_weights", "post_init", "initialize"}))
    return same(EventKind::kInitWeights);
  if (one_of(name, {"requires_grad_", "zero_grad", "set_reshard_after_backward", "set_is_last_backward", "reshard",
                    "unshard", "enable_input_require_grads", "register_buffer", "register_parameter",
                    "register_forward_hook", "set_submodule", "gradient_checkpointing_disable", "share_memory"})) {
    return same(name == "zero_grad" ? EventKind::kZeroGrad : EventKind::kCall);
  }
  if (name == "apply") {
    same(EventKind::kCall);
    if (first != nullptr && (first->type == Type::kFunction || first->type == Type::kMethod)) {
      Arguments& one = program_.arguments_.emplace_back();
      Object* element = make(Type::kModel, node);
      element->parent = model;
      element->element = true;
      one.list.push_back({"", element, node});
      call_object(first, one, node);
    }
    return model;
  }
  Object* result = make(Type::kUnknown, node);
  result->callee = callee;
  result->made_by = &given;
  result->receiver = model;
  const auto done = [&](EventKind kind) {
    emit(kind, callee, node, &given, model, model, result);
    return result;
  };
  if (one_of(name, {"parameters", "named_parameters", "buffers", "named_buffers"})) {
    result->type = Type::kParameters;
    result->items = {model};
    return done(EventKind::kCall);
  }
  if (one_of(name, {"modules", "children"})) {
    result->type = Type::kModel;
    result->parent = model;
    return done(EventKind::kCall);
  }
  if (one_of(name, {"named_modules", "named_children", "items", "values"})) {
    if (name == "values" || name == "items") {
      result->type = name == "values" ? Type::kModel : Type::kUnknown;
      result->callee = name == "items" ? std::string_view(".named_children") : std::string_view(".children");
      result->parent = model;
    }
    return done(EventKind::kCall);
  }
  if (name == "get_submodule") {
    result->type = Type::kModel;
    result->parent = model;
    return done(EventKind::kCall);
  }
  if (name == "set_requires_gradient_sync") return done(EventKind::kGradSync);
  if (name == "clip_grad_norm_" || name == "clip_grad_value_") {
    result->taints = kReduced;
    return done(EventKind::kClip);
  }
  if (name == "state_dict") {
    result->type = Type::kStateDict;
    return done(EventKind::kStateDict);
  }
  if (name == "load_state_dict") return done(EventKind::kLoadState);
  if (name == "save_pretrained" || name == "save_model" || name == "push_to_hub") return done(EventKind::kSave);
  if (name == "generate") {
    result->taints = kLocal;
    return done(EventKind::kGenerate);
  }
  if (name == "no_sync") return done(EventKind::kCall);
  if (name == "forward") {
    result->taints = kLocal;
    return done(EventKind::kForwardMethod);
  }
  if (name == "register_module" || name == "add_module" || name == "append") {
    if (given.list.size() > 1) set_attribute(model, "*", given.list[1].value, node);
    return done(EventKind::kCall);
  }
  if (name == "backward" || name == "step") return nullptr;  // a loss or an engine that was taken for a module
  result->taints = kLocal;
  return done(EventKind::kForwardMethod);
}

Object* Interpreter::sequence_method(Object* whole, std::string_view name, Arguments& given, Node node) {
  Object* sequence = main_of(whole);
  const std::string_view callee = program_.intern("." + std::string(name));
  Object* value = given.list.empty() ? nullptr : given.list.front().value;
  Object* result = unknown(node, static_cast<Taints>(sequence->taints & ~kEndless));
  result->callee = callee;
  result->receiver = sequence;
  result->made_by = &given;
  // How often a list grows depends on the loops and conditions around.
  Taints around = 0;
  for (const Loop* loop = loop_; loop != nullptr; loop = loop->outer)
    around |= static_cast<Taints>(loop->taints & kUneven);
  for (const Object* some : alternatives(whole)) {
    Object* target = const_cast<Object*>(some);
    if (one_of(name, {"append", "add", "extend", "insert", "update", "setdefault"})) {
      target->taints |=
          static_cast<Taints>(around | (value == nullptr ? 0 : value->taints & (kUneven | kLocal | kRank)));
      const Object* what =
          value == nullptr ? nullptr : main_of(name == "insert" && given.list.size() > 1 ? given.list[1].value : value);
      if (what != nullptr && target->items.size() < 16 && target->type == Type::kSequence) {
        if (name == "extend" && what->type == Type::kSequence)
          target->items.insert(target->items.end(), what->items.begin(), what->items.end());
        else
          target->items.push_back(const_cast<Object*>(what));
        target->element = loop_ != nullptr || target->element;
      }
      if (what != nullptr && target->type == Type::kDict && what->type == Type::kDict)
        for (const auto& member : what->members) {
          if (target->members.size() < 64) target->members.push_back(member);
        }
    }
  }
  if (sequence->type == Type::kDict) {
    if ((name == "get" || name == "pop") && value != nullptr) {
      emit(EventKind::kCall, callee, node, &given, sequence, sequence, result);
      const Object* key = main_of(value);
      if (Object* found = key->type == Type::kText ? sequence->member(key->name) : nullptr) return found;
      return result;
    }
    if (one_of(name, {"items", "values", "keys", "copy"})) {
      Object* all = make(Type::kSequence, node);
      all->callee = callee;
      all->element = true;
      all->receiver = sequence;
      all->taints = sequence->taints;
      for (const auto& [key, item] : sequence->members) {
        if (all->items.size() >= 8) break;
        if (name == "items") {
          Object* pair = make(Type::kSequence, node);
          pair->items = {text_object(key, false, node), item};
          all->items.push_back(pair);
        } else {
          all->items.push_back(item);
        }
      }
      emit(EventKind::kCall, callee, node, &given, sequence, sequence, name == "copy" ? sequence : all);
      return name == "copy" ? sequence : all;
    }
  }
  if (name == "reverse") sequence->reversed = !sequence->reversed;
  if (name == "pop" && !sequence->items.empty()) result = sequence->items.back();
  emit(EventKind::kCall, callee, node, &given, sequence, sequence, result);
  if (one_of(name, {"to", "cuda"})) return whole;
  return result;
}

Object* Interpreter::text_method(Object* whole, std::string_view name, Arguments& given, Node node) {
  Object* object = main_of(whole);
  Object* result = make(Type::kUnknown, node);
  const std::string_view callee = program_.intern("." + std::string(name));
  result->taints = static_cast<Taints>(whole->taints | taints_of(given));
  result->callee = callee;
  result->receiver = object;
  result->made_by = &given;
  if (one_of(name, {"format", "join", "strip", "lower", "upper", "replace", "removeprefix", "removesuffix", "rstrip",
                    "lstrip"})) {
    result->type = Type::kText;
    result->name = object->name;
    result->identity = object->identity;
  }
  emit(EventKind::kCall, callee, node, &given, object, object, result);
  return result;
}

}  // namespace fx::knowledge::code
