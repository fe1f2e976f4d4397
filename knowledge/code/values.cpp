#include <algorithm>

#include "base/text.h"

#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxAlternatives = 6;
constexpr int kMaxSearch = 64;

}  // namespace

Object* Interpreter::make(Type type, Node node) {
  Object& object = program_.objects_.emplace_back();
  object.type = type;
  object.node = node;
  object.file = file_;
  object.guard = guard_;
  object.created = trace_ == nullptr ? -1 : static_cast<int>(trace_->events.size());
  return &object;
}

Object* Interpreter::unknown(Node node, Taints taints) {
  Object* object = make(Type::kUnknown, node);
  object->taints = taints;
  return object;
}

Object* Interpreter::number(double value, Node node) {
  Object* object = make(Type::kNumber, node);
  object->number = value;
  object->constant = true;
  return object;
}

Object* Interpreter::text_object(std::string_view value, bool constant, Node node) {
  Object* object = make(Type::kText, node);
  object->name = value;
  object->constant = constant;
  return object;
}

Object* Interpreter::external(std::string_view name, Node node) {
  Object* object = make(Type::kExternal, node);
  object->name = name;
  object->file = nullptr;
  return object;
}

Object* Interpreter::join(Object* a, Object* b, Taints taints) {
  if (a == nullptr) std::swap(a, b);
  if (a == b) b = nullptr;
  if (b == nullptr && (taints == 0 || (a->taints & taints) == taints)) return a;
  if (b != nullptr && taints == 0 && a->type == b->type && a->type != Type::kUnion && a->constant && b->constant &&
      a->number == b->number && a->name == b->name)
    return a;
  Object* both = make(Type::kUnion, a->node);
  both->taints = static_cast<Taints>(a->taints | taints);
  const auto add = [&](Object* some) {
    if (some->type != Type::kUnion) {
      if (std::ranges::find(both->items, some) == both->items.end()) both->items.push_back(some);
      return;
    }
    for (Object* item : some->items) {
      if (both->items.size() < kMaxAlternatives && std::ranges::find(both->items, item) == both->items.end())
        both->items.push_back(item);
    }
  };
  add(a);
  if (b != nullptr) {
    both->taints |= b->taints;
    add(b);
  }
  if (both->items.size() == 1 && (both->items[0]->taints & both->taints) == both->taints) return both->items[0];
  return both;
}

Taints Interpreter::taints_of(const Arguments& given) const {
  Taints taints = 0;
  for (const Argument& argument : given.list) {
    // Where a tensor lies says nothing about what is in it.
    const bool place = argument.name == "device";
    taints |= static_cast<Taints>(argument.value->taints & (place ? ~kRank : ~0));
  }
  return static_cast<Taints>(taints & ~(kStepCount | kEndless));
}

// What something that was not sent makes of its arguments. From rank and world size it makes this rank's share of data;
// with the rank alone it may do anything, and the value tells nothing.
Taints Interpreter::opaque_taints(std::string_view name, Taints given) const {
  auto taints = static_cast<Taints>(given & (kLocal | kWorld | kUneven | kReduced));
  if ((given & kRank) == 0) return taints;
  bool share = (given & kWorld) != 0;
  for (const std::string_view word : {"load", "batch", "data", "stream", "source", "iter", "sampl", "reader"})
    share |= contains_ignoring_case(last_part(name), word);
  return share ? static_cast<Taints>(taints | kLocal) : taints;
}

Event& Interpreter::emit(EventKind kind, std::string_view callee, Node node, const Arguments* given,
                         const Object* subject, const Object* receiver, Object* result) {
  Event event;
  event.kind = kind;
  event.pass = pass_;
  event.index = static_cast<std::uint32_t>(trace_->events.size());
  event.callee = callee;
  event.receiver = receiver;
  event.subject = main_of(subject);
  event.result = result;
  event.arguments = given;
  event.node = node;
  event.file = file_;
  event.guard = guard_;
  event.loop = loop_;
  event.context = context_;
  event.frame = frame_;
  return trace_->events.emplace_back(event);
}

const Guard* Interpreter::add_guard(GuardKind kind, Node test, Node statement, bool positive, const Object* value) {
  Guard& guard = program_.guards_.emplace_back();
  guard.outer = guard_;
  guard.kind = kind;
  guard.test = test;
  guard.statement = statement;
  guard.file = file_;
  guard.positive = positive;
  guard.value = value;
  guard.taints = kind == GuardKind::kExcept ? static_cast<Taints>(kLocal)
                 : value == nullptr         ? Taints{0}
                                            : value->taints;
  return &guard;
}

// After an all-reduce or a broadcast all ranks hold the same.
void Interpreter::reduce(Object* value) {
  for (const Object* some : alternatives(value)) {
    Object* object = const_cast<Object*>(some);
    object->taints = static_cast<Taints>((object->taints & ~(kRank | kLocal | kUneven)) | kReduced);
    for (Object* item : object->items)
      item->taints = static_cast<Taints>((item->taints & ~(kRank | kLocal | kUneven)) | kReduced);
    for (auto& [name, item] : object->members)
      item->taints = static_cast<Taints>((item->taints & ~(kRank | kLocal | kUneven)) | kReduced);
  }
  value->taints = static_cast<Taints>((value->taints & ~(kRank | kLocal | kUneven)) | kReduced);
}

// Something unknown is used as a module: it is one, and so is the list it is an item of and that list's owner.
void Interpreter::promote(Object* object) {
  Object* at = main_of(object);
  if (at == nullptr || (at->type != Type::kUnknown && at->type != Type::kModel)) return;
  at->type = Type::kModel;
  if (!at->element && !(at->callee == "[]" && at->has(kStepCount))) return;
  for (int up = 0; up < 2; ++up) {
    at = main_of(at->parent);
    if (at == nullptr || at->type != Type::kUnknown) return;
    at->type = Type::kModel;
  }
}

// The model whose parameters a value holds: model.parameters(), a list of them, groups of them.
const Object* Interpreter::model_in(const Object* value) const {
  std::vector<const Object*> open = {value};
  for (int i = 0; i < kMaxSearch && !open.empty(); ++i) {
    const Object* at = main_of(open.back());
    open.pop_back();
    if (at == nullptr) continue;
    if (at->type == Type::kParameters) return at->items.empty() ? nullptr : main_of(at->items.front());
    if (at->type == Type::kModel) return at;
    if (at->parent != nullptr && main_of(at->parent)->type == Type::kParameters) open.push_back(at->parent);
    for (Object* item : at->items) open.push_back(item);
    for (const auto& [name, item] : at->members) {
      if (at->type == Type::kDict || at->type == Type::kSequence) open.push_back(item);
    }
    // filter(test, model.parameters()), list(...), a helper from outside that was handed the model
    if (at->type == Type::kUnknown && at->made_by != nullptr) {
      for (const Argument& argument : at->made_by->list) open.push_back(argument.value);
    }
  }
  return nullptr;
}

}  // namespace fx::knowledge::code
