#include <utility>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"

namespace fx::knowledge::code {

Object* Interpreter::comprehension(Node node) {
  Object* value = make(node.is("dictionary_comprehension") ? Type::kDict : Type::kSequence, node);
  Scope& inner = scopes_.emplace_back();
  inner.outer = scope_;
  inner.file = file_;
  inner.function = scope_->function;
  Scope* const outer = scope_;
  const Guard* const guard = guard_;
  const bool picked_before = std::exchange(picked_by_rank_, false);
  scope_ = &inner;
  std::vector<Node> clauses;
  for (const Node child : node.children()) {
    if (child.is("for_in_clause") || child.is("if_clause")) clauses.push_back(child);
  }
  comprehension_clauses(node, clauses, 0, [&] {
    const Node body = node.child("body");
    Object* item = body.is("pair") ? eval(body.child("value")) : eval(body);
    if (body.is("pair")) {
      Object* key = eval(body.child("key"));
      value->members.emplace_back("", item);
      value->taints |= key->taints;
    } else if (value->items.size() < 16) {
      value->items.push_back(item);
    }
    value->taints |= item->taints;
    value->callee = "comprehension";
  });
  scope_ = outer;
  guard_ = guard;
  if (picked_by_rank_) value->taints |= kUneven | kLocal;
  picked_by_rank_ = picked_before;
  // One element stands for all of them.
  if (value->items.size() == 1) value->element = true;
  return value;
}

void Interpreter::comprehension_clauses(Node node, std::vector<Node> clauses, std::size_t next,
                                        const std::function<void()>& inner) {
  if (next == clauses.size()) return inner();
  const Node clause = clauses[next];
  if (clause.is("if_clause")) {
    const Node test = clause.first_child();
    Object* chosen = eval(test);
    if (chosen->has(kRank)) picked_by_rank_ = true;  // each rank's share may be longer or shorter
    guard_ = add_guard(GuardKind::kIf, test, node, true, chosen);
    return comprehension_clauses(node, clauses, next + 1, inner);
  }
  Object* iterable = eval(clause.child("right"));
  run_loop(clause, iterable, 0, [&](Object* item) {
    assign(clause.child("left"), item, clause);
    if (pass_ == 1) comprehension_clauses(node, clauses, next + 1, inner);
    return Flow::kNormal;
  });
}

Object* Interpreter::yield(Node node) {
  Object* value = node.first_child() ? eval(node.first_child()) : none_;
  for (auto at = yields_.rbegin(); at != yields_.rend(); ++at) {
    if (at->first != scope_->function) continue;
    std::function<void(Object*)>& turn = *at->second;
    const bool from = node.text().substr(0, 10) == "yield from";
    if (!from) {
      turn(value);
    } else {
      run_loop(node, value, 0, [&](Object* item) {
        turn(item);
        return Flow::kNormal;
      });
    }
    return unknown(node);
  }
  return unknown(node);
}

}  // namespace fx::knowledge::code
