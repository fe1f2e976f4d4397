// Methods of lists, tuples, sets and dicts.
#include <algorithm>
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/methods.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxItems = 16, kMaxMembers = 64, kMaxListed = 8;

void add(Object& target, const Object& what, std::string_view method, bool in_loop) {
  if (target.type == Type::kSequence && target.items.size() < kMaxItems) {
    if (method == "extend" && what.type == Type::kSequence)
      target.items.insert(target.items.end(), what.items.begin(), what.items.end());
    else
      target.items.push_back(const_cast<Object*>(&what));
    target.element = in_loop || target.element;
  }
  if (target.type == Type::kDict && what.type == Type::kStateDict && method == "update")
    target.members.emplace_back("", const_cast<Object*>(&what));
  if (target.type != Type::kDict || what.type != Type::kDict) return;
  for (const auto& member : what.members) {
    if (target.members.size() < kMaxMembers) target.members.push_back(member);
  }
}

// How often a list grows depends on the loops and conditions around.
void grow(Interpreter& run, const Call& call) {
  Taints around = 0;
  for (const Loop* loop = run.loop(); loop != nullptr; loop = loop->outer)
    around |= static_cast<Taints>(loop->taints & kUneven);
  if (run.depends_in_loop_on(kRank)) around |= kUneven | kLocal;  // if i % world == rank: mine.append(row)
  const Object* value = call.argument(0);
  const Object* inserted = call.name == "insert" ? call.argument(1) : nullptr;
  if (call.name == "extend" || call.name == "update") value = run.consume(call.argument(0), call.node);
  const Object* what = main_of(inserted != nullptr ? inserted : value);
  for (const Object* some : alternatives(call.whole)) {
    auto* target = const_cast<Object*>(some);
    target->taints |= static_cast<Taints>(around | (value == nullptr ? 0 : value->taints & (kUneven | kLocal | kRank)));
    if (what != nullptr) add(*target, *what, call.name, run.loop() != nullptr);
  }
}

// dict.get(key), dict.pop(key)
Object* look_up(Interpreter& run, const Call& call, Object* otherwise) {
  note(run, call, EventKind::kCall, call.receiver, otherwise);
  Object* found = call.first->type == Type::kText ? call.receiver->member(call.first->name) : nullptr;
  return found != nullptr ? found : otherwise;
}

// dict.items(), dict.keys(), dict.values(): at most the first few.
Object* list_members(Interpreter& run, const Call& call) {
  Object* all = run.make(Type::kSequence, call.node);
  all->callee = call.callee;
  all->element = true;
  all->receiver = call.receiver;
  all->taints = call.receiver->taints;
  for (const auto& [key, item] : call.receiver->members) {
    if (all->items.size() >= kMaxListed) break;
    Object* listed = item;
    if (call.name == "items") {
      listed = run.make(Type::kSequence, call.node);
      listed->items = {run.text_object(key, false, call.node), item};
    }
    all->items.push_back(listed);
  }
  return note(run, call, EventKind::kCall, call.receiver, all);
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Object* call_sequence_method(Interpreter& run, const Call& call) {
  Object* sequence = call.receiver;
  Object* value = value_of(run, call, {call.name, nullptr});
  value->taints = static_cast<Taints>(sequence->taints & ~kEndless);
  if (is_one_of(call.name, {"append", "add", "extend", "insert", "update", "setdefault"})) grow(run, call);
  if (sequence->type == Type::kDict) {
    if (call.first != nullptr && is_one_of(call.name, {"get", "pop"})) return look_up(run, call, value);
    if (is_one_of(call.name, {"items", "values", "keys"})) return list_members(run, call);
    if (call.name == "copy") return note(run, call, EventKind::kCall, sequence, sequence);
  }
  if (call.name == "reverse") sequence->reversed = !sequence->reversed;
  if (call.name == "pop" && !sequence->items.empty()) value = sequence->items.back();
  note(run, call, EventKind::kCall, sequence, value);
  return is_one_of(call.name, {"to", "cuda"}) ? call.whole : value;
}

}  // namespace fx::knowledge::code
