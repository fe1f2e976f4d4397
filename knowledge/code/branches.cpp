// Both ways of a condition, one after the other, and what is known behind them.
#include <algorithm>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {

Flow Interpreter::whole_if_statement(Node node) {
  return if_statement(node, {});
}

// alternative_of: the if_statement whose elif clause this is.
Flow Interpreter::if_statement(Node node, Node alternative_of) {
  const Node test = node.child("condition");
  Object* value = eval(test);
  Node rest;  // elif and else clauses hang side by side below the if statement
  if (!alternative_of) {
    rest = node.child("alternative");
  } else {
    rest = node.next_sibling();
    if (rest && !rest.is_under("alternative")) rest = {};
  }
  const auto then = [&] { return block(node.child("consequence")); };
  const auto otherwise = [&] {
    if (!rest) return Flow::kNormal;
    return rest.is("elif_clause") ? if_statement(rest, node) : block(rest.child("body"));
  };
  return branches(test, node, value, std::ref(then), std::ref(otherwise));  // no copies on the heap
}

// What returns in the branch at hand imply about the rank, up to the branch's own condition.
std::vector<const Guard*> Interpreter::ranks_left(const Guard* from) const {
  std::vector<const Guard*> left;
  const bool in_loop = loop_ != nullptr && loop_->file == file_ &&
                       (scope_->function == nullptr || loop_->node.begin() > scope_->function->node.begin());
  for (const Guard* guard = guard_; guard != nullptr && guard != from && !in_loop; guard = guard->outer) {
    if (guard->implied && (guard->taints & kRank) != 0) left.push_back(guard);
  }
  return left;
}

// Behind both branches it holds for who came through the one.
void Interpreter::keep_partly(const std::vector<const Guard*>& guards) {
  for (const Guard* guard : guards) {
    auto* kept =
        const_cast<Guard*>(add_guard(guard->kind, guard->test, guard->statement, guard->positive, guard->value));
    kept->implied = kept->partial = true;
    guard_ = kept;
  }
}

// Behind the branches a name is one or the other. Of `if world > 1: x = broadcast(x)` only the first matters.
Object* Interpreter::merged(Object* one, Object* other, const Guard& guard) {
  const bool differ = one != nullptr && other != nullptr && one->has(kReduced) != other->has(kReduced);
  if (differ && ((guard.taints & kWorld) != 0 || mentions(guard.test.text(), {"world_size", "is_initialized"})))
    return one->has(kReduced) ? one : other;
  return join(one, other, static_cast<Taints>(guard.taints & (kRank | kLocal)));
}

Flow Interpreter::branches(Node test, Node node, Object* value, const std::function<Flow()>& then,
                           const std::function<Flow()>& otherwise) {
  if (const auto known = decide(test, value)) return *known ? then() : otherwise();
  const Guard* const outer = guard_;
  Changes changes(*scope_);
  const Guard* const yes = add_guard(GuardKind::kIf, test, node, true, value);
  guard_ = yes;
  const Flow first = then();
  std::vector<const Guard*> left = ranks_left(yes);
  const std::vector<Changes::Change> after_first = changes.undo();
  guard_ = outer;
  const Guard* const no = add_guard(GuardKind::kIf, test, node, false, value);
  guard_ = no;
  const Flow second = otherwise();
  for (const Guard* guard : ranks_left(no)) left.push_back(guard);
  guard_ = outer;
  if (first != Flow::kNormal && second != Flow::kNormal) return first == second ? first : Flow::kReturn;
  if (first != Flow::kNormal || second != Flow::kNormal) {
    if (first == Flow::kNormal) {
      changes.undo();
      for (const Changes::Change& change : after_first) scope_->set(change.name, change.now);
    }
    guard_ = add_guard(GuardKind::kIf, test, node, second == Flow::kNormal ? false : true, value);
    const_cast<Guard*>(guard_)->implied = true;
    return Flow::kNormal;
  }
  keep_partly(left);
  for (const Changes::Change& change : changes.all()) {
    const bool in_both = std::ranges::binary_search(after_first, change.place, {}, &Changes::Change::place);
    if (!in_both && change.before != nullptr && change.before != change.now)
      scope_->set(change.name, merged(change.before, change.now, *yes));
  }
  for (const Changes::Change& change : after_first) {
    Object* other = scope_->find(change.name);
    if (change.now != other) scope_->set(change.name, merged(change.now, other, *yes));
  }
  return Flow::kNormal;
}

Flow Interpreter::match_statement(Node node) {
  Object* value = eval(node.child("subject"));
  const Guard* const outer = guard_;
  const Node body = node.child("body");
  for (const Node clause : (body ? body : node).children()) {
    if (!clause.is("case_clause")) continue;
    guard_ = add_guard(GuardKind::kCase, clause, node, true, value);
    block(clause.child("consequence"));
    guard_ = outer;
  }
  return Flow::kNormal;
}

}  // namespace fx::knowledge::code
