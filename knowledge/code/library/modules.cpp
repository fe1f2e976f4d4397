// What builds, wraps, shards, compiles and copies models.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"
#include "knowledge/code/models.h"
#include "knowledge/code/names.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

// A call that puts a module into a new one.
Object* wrap_into(Interpreter& run, const Call& call, std::string_view parameter, Sharding sharding, EventKind kind) {
  auto* inner = const_cast<Object*>(call.given.get(parameter, 0));
  if (inner != nullptr) promote(inner);
  Object* wrapper = run.make(Type::kModel, call.node);
  wrapper->wrapped = inner;
  wrapper->sharding = sharding;
  wrapper->callee = call.name;
  wrapper->made_by = &call.given;
  if (inner != nullptr) wrapper->parent = main_of(inner)->parent;
  return note(run, call, kind, inner == nullptr ? wrapper : main_of(inner), wrapper);
}

Object* fsdp1(Interpreter& run, const Call& call, const Known&) {
  return wrap_into(run, call, "module", Sharding::kFsdp1, EventKind::kShard);
}

Object* ddp(Interpreter& run, const Call& call, const Known&) {
  return wrap_into(run, call, "module", Sharding::kDdp, EventKind::kDdp);
}

Object* checkpoint_wrapper(Interpreter& run, const Call& call, const Known&) {
  return wrap_into(run, call, "module", Sharding::kNone, EventKind::kCheckpointWrap);
}

Object* adapters(Interpreter& run, const Call& call, const Known&) {
  return wrap_into(run, call, "model", Sharding::kNone, EventKind::kCall);
}

Object* compile(Interpreter& run, const Call& call, const Known&) {
  Object* first = call.first;
  if (first != nullptr && (first->type == Type::kModel || first->type == Type::kUnknown))
    return wrap_into(run, call, "model", Sharding::kNone, EventKind::kCompile);
  note(run, call, EventKind::kCall, first, first);
  return first == nullptr ? run.unknown(call.node) : first;
}

Object* shard_list(Interpreter& run, const Call& call, Object* target, Object* list) {
  for (Object* item : list->items) {
    promote(item);
    main_of(item)->sharding = Sharding::kFsdp2;
  }
  Object* first = list->items.empty() ? run.make(Type::kModel, call.node) : main_of(list->items.front());
  note(run, call, EventKind::kShard, first, first);
  return target;
}

// A walk over modules() that picks by class meets the root too, if it is of that class.
void shard_picked_root(const Event& shard) {
  auto* root = const_cast<Object*>(root_of(shard.subject));
  if (root == shard.subject) return;
  for (const Object* of : classes_asked_for(shard.guard, shard.subject)) {
    if (is_instance(root, of)) root->sharding = Sharding::kFsdp2;
  }
}

// fully_shard(module or list of modules): in place.
Object* fully_shard(Interpreter& run, const Call& call, const Known&) {
  auto* target = const_cast<Object*>(call.given.get("module", 0));
  if (target == nullptr) return run.unknown(call.node);
  Object* main = main_of(target);
  if (main->type == Type::kSequence) return shard_list(run, call, target, main);
  for (const Object* some : alternatives(target)) {
    auto* module = const_cast<Object*>(some);
    promote(module);
    if (module->type == Type::kModel) module->sharding = Sharding::kFsdp2;
  }
  main->type = Type::kModel;
  main->sharding = Sharding::kFsdp2;
  shard_picked_root(run.emit(EventKind::kShard, call.callee, call.node, &call.given, main, nullptr, main));
  return target;
}

Object* apply_checkpointing(Interpreter& run, const Call& call, const Known& known) {
  if (call.first != nullptr) promote(call.first);
  Object* value = value_of(run, call, known);
  value->receiver = call.first;
  return note(run, call, known.kind, call.first, value);
}

Object* deep_copy(Interpreter& run, const Call& call, const Known& known) {
  Object* copied = value_of(run, call, known);
  if (const Object* first = call.first; first != nullptr) {
    copied->type = first->type;
    copied->of_class = first->of_class;
    copied->taints = first->taints;
    copied->receiver = call.first;
    copied->name = first->name;
    copied->sharding = first->sharding;
  }
  note(run, call, EventKind::kCall, call.first, copied);
  if (copied->type != Type::kSequence) return copied;
  copied->element = call.first->element;
  for (Object* item : call.first->items) {
    const Object* original = main_of(item);
    Object* twin = value_of(run, call, known);
    twin->type = original->type;
    twin->of_class = original->of_class;
    twin->taints = item->taints;
    twin->name = original->name;
    twin->sharding = original->sharding;
    twin->receiver = item;
    twin->created = copied->created;
    copied->items.push_back(twin);
  }
  return copied;
}

bool is_model_class(std::string_view name) {
  const std::string_view last = last_part(name);
  constexpr std::array<std::string_view, 6> kOthers = {"Tokenizer", "Config",           "Processor",
                                                       "Scheduler", "FeatureExtractor", "Dataset"};
  return std::ranges::none_of(kOthers, [&](std::string_view other) { return contains(last, other); });
}

// nn.Sequential(a, b), nn.ModuleList([a, b]): what is handed in becomes a part.
void hold_parts(Object* container, const Arguments& given) {
  for (const Argument& argument : given.list) {
    Object* item = main_of(argument.value);
    if (item->type == Type::kSequence) {
      for (Object* inner : item->items) {
        place(inner, container);
        container->items.push_back(inner);
      }
    } else if (item->type == Type::kModel || item->type == Type::kUnknown) {
      place(item, container);
      container->items.push_back(item);
    }
  }
}

constexpr std::array kFunctions = {
    Known{"torch.distributed.fsdp.fully_shard", fully_shard},
    Known{"torch.distributed.fsdp.FullyShardedDataParallel", fsdp1},
    Known{"torch.distributed.fsdp.wrap.wrap", fsdp1},
    Known{"torch.nn.parallel.DistributedDataParallel", ddp},
    Known{"torch.distributed.checkpoint_wrapper.checkpoint_wrapper", checkpoint_wrapper},
    Known{"torch.distributed._composable.checkpoint", checkpoint_wrapper},
    Known{"torch.distributed.checkpoint_wrapper.apply_activation_checkpointing", apply_checkpointing,
          EventKind::kCheckpointWrap},
    Known{"torch.utils.checkpoint.checkpoint", about_nothing, EventKind::kCheckpointCall},
    Known{"torch.utils.checkpoint.checkpoint_sequential", about_nothing, EventKind::kCheckpointCall},
    Known{"peft.get_peft_model", adapters},
    Known{"torch.compile", compile},
    Known{"copy.deepcopy", deep_copy},
};

}  // namespace

std::span<const Known> module_functions() {
  return kFunctions;
}

Object* pretrained_model(Interpreter& run, const Call& call) {
  const std::string_view last = last_part(call.name);
  if (last != "from_pretrained" && last != "from_config" && last != "from_checkpoint") return nullptr;
  const std::string_view owner = call.name.substr(0, call.name.size() - last.size() - 1);
  const bool is_model = is_model_class(owner);
  Object* value = value_of(run, call, {call.name, nullptr, EventKind::kCall, is_model ? Type::kModel : Type::kUnknown});
  return note(run, call, EventKind::kCall, is_model ? value : nullptr, value);
}

Object* module_class(Interpreter& run, const Call& call) {
  if (!call.name.starts_with("torch.nn.")) return nullptr;
  const std::string_view last = last_part(call.name);
  if (call.name.starts_with("torch.nn.init.")) {
    Object* value = call.first != nullptr ? call.first : value_of(run, call, {call.name, nullptr});
    note(run, call, EventKind::kInitWeights, call.first, call.first);
    return value;
  }
  if (call.name.starts_with("torch.nn.functional.") || call.name.starts_with("torch.nn.utils") ||
      !is_class_like(call.name) || last == "Parameter" || last == "Buffer")
    return nullptr;
  const Type type = contains(last, "Loss") ? Type::kUnknown : Type::kModel;
  Object* value = value_of(run, call, {call.name, nullptr, EventKind::kCall, type});
  if (call.first != nullptr && (last == "ModuleList" || last == "Sequential" || last == "ModuleDict"))
    hold_parts(value, call.given);
  return note(run, call, EventKind::kCall, call.first, value);
}

}  // namespace fx::knowledge::code
