// Arithmetic, comparisons, and, or, not.
#include <cmath>
#include <optional>

#include "knowledge/code/interpreter.h"

namespace fx::knowledge::code {
namespace {

// [filler] * (wanted - len(list)): what brings the list to a length that is the same on all ranks.
bool fills_up(const Object& more, const Object& list) {
  if (more.callee != "*" || more.made_by == nullptr || more.made_by->list.size() != 2) return false;
  for (const Argument& factor : more.made_by->list) {
    const Object* missing = main_of(factor.value);
    if (missing->callee != "-" || missing->made_by == nullptr || missing->made_by->list.size() != 2) continue;
    const Object* wanted = missing->made_by->list[0].value;
    const Object* length = main_of(missing->made_by->list[1].value);
    if (!wanted->has(kRank | kUneven) && length->callee == "len" && length->made_by != nullptr &&
        !length->made_by->list.empty() && main_of(length->made_by->list[0].value) == &list)
      return true;
  }
  return false;
}

// Of two constants; nothing for what is not computed here.
std::optional<double> computed(std::string_view sign, double a, double b) {
  if (sign == "+") return a + b;
  if (sign == "-") return a - b;
  if (sign == "*") return a * b;
  if (sign == "//" && b != 0) return std::floor(a / b);
  if (sign == "/" && b != 0) return a / b;
  return std::nullopt;
}

// "==", "!=", "<", ">", "<="; everything else is ">=".
bool holds(std::string_view sign, double a, double b) {
  if (sign == "==") return a == b;
  if (sign == "!=") return a != b;
  if (sign == "<") return a < b;
  if (sign == ">") return a > b;
  return sign == "<=" ? a <= b : a >= b;
}

}  // namespace

// not x, -x
Object* Interpreter::unary(Node node) {
  const Node argument = node.child("argument"), sign = node.child("operator");
  Object* inner = eval(argument);
  Object* value = make(main_of(inner)->type == Type::kNumber ? Type::kNumber : Type::kUnknown, node);
  value->taints = inner->taints;
  value->receiver = inner;
  value->callee = sign.text();
  if (inner->constant && sign.is("-")) {
    value->constant = true;
    value->number = -inner->number;
  }
  return value;
}

Object* Interpreter::negation(Node node) {
  const Node argument = node.child("argument");
  Object* inner = eval(argument);
  Object* value = make(Type::kBool, node);
  value->taints = inner->taints;
  value->receiver = inner;
  value->callee = "not";
  if (const auto known = decide(argument, inner)) {
    value->constant = true;
    value->number = *known ? 0 : 1;
  }
  return value;
}

// x += y
Object* Interpreter::augmented_assignment(Node node) {
  const Node target = node.child("left");
  Object* left = eval(target);
  Object* right = eval(node.child("right"));
  Object* list = main_of(left);
  if (list->type == Type::kSequence) {
    for (Object* item : main_of(right)->items) list->items.push_back(item);
    list->taints |= right->taints;
    if (fills_up(*main_of(right), *list)) list->taints &= static_cast<Taints>(~kUneven);
    return left;
  }
  Object* value = make(left->type == Type::kNumber ? Type::kNumber : Type::kUnknown, node);
  value->taints = static_cast<Taints>(left->taints | right->taints);
  Arguments& given = arguments_of({{"", left, target}, {"", right, node.child("right")}});
  value->made_by = &given;
  value->callee = node.child("operator").text();
  emit(EventKind::kOperator, value->callee, node, &given, nullptr, nullptr, value);
  assign(target, value, node);
  return value;
}

Object* Interpreter::binary(Node node) {
  Object* left = eval(node.child("left"));
  const std::string_view sign = node.child("operator").kind();
  if (sign == "and" || sign == "or") {
    // The right side runs only if the left one lets it.
    const Guard* const outer = guard_;
    guard_ = add_guard(GuardKind::kIf, node.child("left"), node, sign == "and", left);
    Object* right = eval(node.child("right"));
    guard_ = outer;
    Object* either = join(right, left, static_cast<Taints>(left->taints & (kRank | kLocal)));
    if (either->type != Type::kUnion || either == left || either == right) return either;
    either->callee = sign;  // what it says as a condition
    either->made_by = &arguments_of({{"", left, node.child("left")}, {"", right, node.child("right")}});
    return either;
  }
  Object* right = eval(node.child("right"));
  const Object* a = main_of(left);
  const Object* b = main_of(right);
  Object* value = make(a->type == Type::kNumber && b->type == Type::kNumber ? Type::kNumber : Type::kUnknown, node);
  value->taints = static_cast<Taints>(left->taints | right->taints);
  if (a->type == Type::kText || (a->type == Type::kSequence && sign == "+")) {
    value->type = a->type;
    value->name = a->name;
    value->items = a->items;
    for (Object* item : b->items) value->items.push_back(item);
  }
  if (sign == "+" && a->type == Type::kModel && b->type == Type::kModel) {  // two lists of modules
    value->type = Type::kSequence;
    value->items = {element_of(left, node), element_of(right, node)};
  }
  if (sign == "+" && fills_up(*b, *a)) value->taints &= static_cast<Taints>(~kUneven);
  if (a->constant && b->constant && a->type != Type::kText && b->type != Type::kText) {
    const auto result = computed(sign, a->number, b->number);
    value->type = Type::kNumber;
    value->constant = result.has_value();
    value->number = result.value_or(0);
    return value;
  }
  Arguments& given = arguments_of({{"", left, node.child("left")}, {"", right, node.child("right")}});
  value->made_by = &given;
  value->callee = sign;
  if (value->type == Type::kUnknown) emit(EventKind::kOperator, sign, node, &given, nullptr, nullptr, value);
  return value;
}

Object* Interpreter::comparison(Node node) {
  Object* value = make(Type::kBool, node);
  Arguments& compared = arguments_of();
  auto& sides = compared.list;
  sides.reserve(2);
  std::string_view sign;
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    if (child.is_under("operators")) {
      if (sign.empty()) sign = child.kind();
      continue;
    }
    sides.push_back({"", eval(child), node});
    value->taints |= sides.back().value->taints;
  }
  value->made_by = &compared;
  value->callee = sign;
  if (sides.size() != 2 || sign.empty()) return value;
  const Object* a = main_of(sides[0].value);
  const Object* b = main_of(sides[1].value);
  if (sign == "is" || sign == "is not") {
    // Whether something is there does not depend on what is in it.
    const bool calculated = a->made_by != nullptr && !a->callee.empty() && a->callee.size() <= 2 && a->callee != "()";
    const bool there = a->type != Type::kUnknown || calculated;
    if (b->type == Type::kNone && sides[0].value->type != Type::kUnion && there) value->taints = 0;
    return value;
  }
  // "rank == -1" asks whether there is a launcher, which is the same on all ranks.
  const auto impossible = [](const Object* some) {
    return some->type == Type::kNumber && some->constant && some->number < 0;
  };
  if (impossible(a) || impossible(b)) value->taints &= static_cast<Taints>(~kRank);
  const bool certain = sides[0].value->type != Type::kUnion && sides[1].value->type != Type::kUnion;
  const bool texts = a->type == Type::kText && b->type == Type::kText && a->constant && b->constant;
  const bool numbers = a->constant && b->constant && a->type != Type::kText && b->type != Type::kText;
  if (texts && certain && (sign == "==" || sign == "!=")) {
    value->constant = true;
    value->number = (a->name == b->name) == (sign == "==") ? 1 : 0;
  } else if (numbers) {
    value->constant = true;
    value->number = holds(sign, a->number, b->number) ? 1 : 0;
  }
  return value;
}

}  // namespace fx::knowledge::code
