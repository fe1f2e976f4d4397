// Which way a condition goes, as far as that is certain.
#include "knowledge/code/interpreter.h"

namespace fx::knowledge::code {
namespace {

constexpr Taints kThroughNames = kRank | kLocal;

}  // namespace

Object* Interpreter::conditional(Node node) {
  std::vector<Node> parts = node.children();
  if (parts.size() < 3) return unknown(node);
  Object* test = eval(parts[1]);
  if (const auto known = decide(parts[1], test)) return eval(*known ? parts[0] : parts[2]);
  const Guard* const outer = guard_;
  guard_ = add_guard(GuardKind::kIf, parts[1], node, true, test);
  Object* yes = eval(parts[0]);
  guard_ = outer;
  guard_ = add_guard(GuardKind::kIf, parts[1], node, false, test);
  Object* no = eval(parts[2]);
  guard_ = outer;
  Object* either = join(yes, no, static_cast<Taints>(test->taints & kThroughNames));
  if (either->type == Type::kUnion && either != yes && either != no) either->receiver = test;  // what decides it
  return either;
}

// Only what cannot change between runs decides: literals and names bound once to them.
bool Interpreter::is_settled(Node test) const {
  std::vector<Node> open = {test};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.is("call") || node.is("attribute") || node.is("subscript")) return false;
    if (node.is("identifier") && scope_->function != nullptr) {
      const auto found = scope_->function->bindings.find(node.text());
      if (found != scope_->function->bindings.end() && found->second > 1) return false;
    }
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
  }
  return true;
}

std::optional<bool> Interpreter::decide(Node test, const Object* value) const {
  if (test.is("parenthesized_expression")) return decide(test.first_child(), value);
  if (test.is("comparison_operator") && test.first_child().text() == "__name__") {
    const bool equal = test.child("operators").is("==");
    return (file_ == main_file_) == equal;
  }
  if (test.is("identifier") && test.text() == "TYPE_CHECKING") return false;
  const Object* main = main_of(value);
  if (value->type == Type::kUnion || !main->constant || main->type == Type::kText || !is_settled(test))
    return std::nullopt;
  return main->number != 0;
}

}  // namespace fx::knowledge::code
