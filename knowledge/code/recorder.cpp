#include "knowledge/code/recorder.h"

#include <algorithm>

#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxAlternatives = 6;
constexpr std::size_t kMaxEvents = 15'000;  // of a trace

}  // namespace

Recorder::Recorder(Program& program) : program_(program) {
  none_ = &program_.objects_.emplace_back(&program_.memory_);
  none_->type = Type::kNone;
}

Object* Recorder::make(Type type, Node node) {
  Object& object = program_.objects_.emplace_back(&program_.memory_);
  object.type = type;
  object.node = node;
  object.file = file_;
  object.guard = guard_;
  object.created = trace_ == nullptr ? -1 : static_cast<int>(trace_->events.size());
  return &object;
}

Object* Recorder::unknown(Node node, Taints taints) {
  Object* object = make(Type::kUnknown, node);
  object->taints = taints;
  return object;
}

Object* Recorder::number(double value, Node node) {
  Object* object = make(Type::kNumber, node);
  object->number = value;
  object->constant = true;
  return object;
}

Object* Recorder::text_object(std::string_view value, bool constant, Node node) {
  Object* object = make(Type::kText, node);
  object->name = value;
  object->constant = constant;
  return object;
}

Object* Recorder::external(std::string_view name, Node node) {
  Object* object = make(Type::kExternal, node);
  object->name = name;
  object->file = nullptr;
  return object;
}

Object* Recorder::join(Object* a, Object* b, Taints taints) {
  if (a == nullptr) std::swap(a, b);
  if (a == b) b = nullptr;
  if (b == nullptr && (taints == 0 || (a->taints & taints) == taints)) return a;
  if (b != nullptr && taints == 0 && a->type == b->type && a->type != Type::kUnion && a->constant && b->constant &&
      a->number == b->number && a->name == b->name)
    return a;
  Object* both = make(Type::kUnion, a->node);
  both->items.reserve(kMaxAlternatives);
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

Arguments& Recorder::arguments_of(std::initializer_list<Argument> list) {
  Arguments& given = program_.arguments_.emplace_back(&program_.memory_);
  given.list = list;
  return given;
}

std::string_view Recorder::method_name(std::string_view name) {
  joined_.assign(1, '.').append(name);
  return program_.intern(joined_);
}

std::string_view Recorder::member_name(std::string_view owner, std::string_view name) {
  joined_.assign(owner).append(1, '.').append(name);
  if (const auto known = canonical_.find(joined_); known != canonical_.end()) return known->second;
  return canonical_.emplace(joined_, program_.intern(canonical_name(joined_))).first->second;
}

Event& Recorder::emit(EventKind kind, std::string_view callee, Node node, const Arguments* given, const Object* subject,
                      const Object* receiver, Object* result) {
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

bool Recorder::depends_in_loop_on(Taints taints) const {
  if (loop_ == nullptr || loop_->begin >= trace_->events.size()) return false;
  const Guard* const whole = trace_->events[loop_->begin].guard;
  for (const Guard* guard = guard_; guard != nullptr && guard != whole; guard = guard->outer) {
    if ((guard->taints & taints) != 0) return true;
  }
  return false;
}

const Guard* Recorder::add_guard(GuardKind kind, Node test, Node statement, bool positive, const Object* value) {
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

bool Recorder::spent() {
  ++steps_;
  if (steps_ < root_limit_ && (trace_ == nullptr || trace_->events.size() < kMaxEvents)) return false;
  if (trace_ != nullptr) trace_->complete = false;
  program_.all_executed_ = false;
  return true;
}

}  // namespace fx::knowledge::code
