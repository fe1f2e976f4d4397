#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {

// fully_shard(module or list of modules): in place.
Object* Interpreter::shard(Arguments& given, std::string_view callee, Node node) {
  Object* target = const_cast<Object*>(given.get("module", 0));
  if (target == nullptr) return unknown(node);
  Object* main = main_of(target);
  if (main->type == Type::kSequence) {
    for (Object* item : main->items) {
      promote(item);
      main_of(item)->sharding = Sharding::kFsdp2;
    }
    Object* first = main->items.empty() ? nullptr : main_of(main->items.front());
    emit(EventKind::kShard, callee, node, &given, first, nullptr, first);
    return target;
  }
  for (const Object* some : alternatives(target)) {
    Object* module = const_cast<Object*>(some);
    promote(module);
    if (module->type == Type::kModel) module->sharding = Sharding::kFsdp2;
  }
  if (main->type != Type::kModel) main->type = Type::kModel;
  main->sharding = Sharding::kFsdp2;
  emit(EventKind::kShard, callee, node, &given, main, nullptr, main);
  return target;
}

// A call that puts a module into a new one.
Object* Interpreter::wrap(Arguments& given, Sharding sharding, EventKind kind, std::string_view callee, Node node) {
  const bool model = kind == EventKind::kCompile || kind == EventKind::kCall;
  Object* inner = const_cast<Object*>(given.get(model ? "model" : "module", 0));
  if (inner != nullptr) promote(inner);
  Object* wrapper = make(Type::kModel, node);
  wrapper->wrapped = inner;
  wrapper->sharding = sharding;
  wrapper->callee = callee;
  wrapper->made_by = &given;
  if (inner != nullptr) wrapper->parent = main_of(inner)->parent;
  emit(kind, callee, node, &given, inner == nullptr ? wrapper : main_of(inner), nullptr, wrapper);
  return wrapper;
}

// accelerator.prepare(...): shards the models in place, gives everything back in order.
Object* Interpreter::prepare(Object* accelerator, Arguments& given, Node node) {
  Object* all = make(Type::kSequence, node);
  all->callee = ".prepare";
  for (const Argument& argument : given.list) {
    Object* item = main_of(argument.value);
    if (item->type == Type::kModel)
      item->sharding = item->sharding == Sharding::kNone ? Sharding::kAccelerate : item->sharding;
    if (argument.name == "*" || argument.name == "**") all->element = true;
    all->items.push_back(argument.value);
    item->taints = static_cast<Taints>(item->taints & ~kUneven);
  }
  all->made_by = &given;
  const Object* subject = all->items.empty() ? nullptr : all->items.front();
  for (const Object* item : all->items) {
    if (main_of(item)->type == Type::kModel) subject = item;
  }
  emit(EventKind::kPrepare, ".prepare", node, &given, subject, accelerator, all);
  return all->items.size() == 1 && !all->element ? all->items.front() : all;
}

}  // namespace fx::knowledge::code
