#include <cmath>
#include <utility>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"

namespace fx::knowledge::code {
namespace {

constexpr int kMaxDepth = 700;  // of nested evaluation, over all calls
constexpr Taints kThroughNames = kRank | kLocal;

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

std::string_view plain_text(Node node) {
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    if (child.is("string_content")) return child.text();
  }
  return {};
}

}  // namespace

Object* Interpreter::eval(Node node) {
  if (!node || spent() || depth_ > kMaxDepth) return unknown(node);
  ++depth_;
  Object* value = eval_inner(node);
  --depth_;
  return value == nullptr ? unknown(node) : value;
}

Object* Interpreter::eval_inner(Node node) {
  const std::string_view kind = node.kind();
  if (kind == "identifier") return identifier(node);
  if (kind == "attribute") return attribute(eval(node.child("object")), node.child("attribute").text(), node);
  if (kind == "call") return call(node);
  if (kind == "string" || kind == "concatenated_string") return text(node);
  if (kind == "integer" || kind == "float") {
    const auto value = to_number(replace_all(std::string(node.text()), "_", ""));
    return value ? number(*value, node) : make(Type::kNumber, node);
  }
  if (kind == "true" || kind == "false") {
    Object* value = number(kind == "true" ? 1 : 0, node);
    value->type = Type::kBool;
    return value;
  }
  if (kind == "none") return none_;
  if (kind == "parenthesized_expression" || kind == "expression_list" || kind == "await") {
    return kind == "expression_list" ? collection(node) : eval(node.first_child());
  }
  if (kind == "tuple" || kind == "list" || kind == "set") return collection(node);
  if (kind == "dictionary") return dictionary(node);
  if (kind == "binary_operator" || kind == "boolean_operator") return binary(node);
  if (kind == "comparison_operator") return comparison(node);
  if (kind == "not_operator" || kind == "unary_operator") {
    Object* inner = eval(node.child("argument"));
    const bool plain = main_of(inner)->type == Type::kNumber;
    Object* value = make(kind == "not_operator" ? Type::kBool : plain ? Type::kNumber : Type::kUnknown, node);
    value->taints = inner->taints;
    value->receiver = inner;
    value->callee = kind == "not_operator" ? std::string_view("not") : node.child("operator").text();
    if (const auto known = kind == "not_operator" ? decide(node.child("argument"), inner) : std::nullopt) {
      value->constant = true;
      value->number = *known ? 0 : 1;
    } else if (kind == "unary_operator" && inner->constant && node.child("operator").is("-")) {
      value->constant = true;
      value->number = -inner->number;
    }
    return value;
  }
  if (kind == "subscript") return subscript(node);
  if (kind == "conditional_expression") return conditional(node);
  if (kind == "list_comprehension" || kind == "generator_expression" || kind == "set_comprehension" ||
      kind == "dictionary_comprehension")
    return comprehension(node);
  if (kind == "lambda") {
    Object* value = make(Type::kFunction, node);
    if (const auto found = file_->function_at.find(node.index()); found != file_->function_at.end())
      value->function = found->second;
    value->scope = scope_;
    return value;
  }
  if (kind == "assignment") {
    if (!node.child("right")) return none_;
    Object* value = eval(node.child("right"));
    if (value->type == Type::kUnknown && node.child("type")) value = typed(value, node.child("type"), *file_);
    assign(node.child("left"), value, node);
    return value;
  }
  if (kind == "augmented_assignment") {
    Object* left = eval(node.child("left"));
    Object* right = eval(node.child("right"));
    if (main_of(left)->type == Type::kSequence) {
      for (Object* item : main_of(right)->items) main_of(left)->items.push_back(item);
      main_of(left)->taints |= right->taints;
      if (fills_up(*main_of(right), *main_of(left))) main_of(left)->taints &= static_cast<Taints>(~kUneven);
      return left;
    }
    Object* value = make(left->type == Type::kNumber ? Type::kNumber : Type::kUnknown, node);
    value->taints = static_cast<Taints>(left->taints | right->taints);
    Arguments& given = program_.arguments_.emplace_back();
    given.list = {{"", left, node.child("left")}, {"", right, node.child("right")}};
    value->made_by = &given;
    value->callee = node.child("operator").text();
    emit(EventKind::kOperator, value->callee, node, &given, nullptr, nullptr, value);
    assign(node.child("left"), value, node);
    return value;
  }
  if (kind == "named_expression") {
    Object* value = eval(node.child("value"));
    assign(node.child("name"), value, node);
    return value;
  }
  if (kind == "yield") return yield(node);
  if (kind == "list_splat" || kind == "dictionary_splat" || kind == "as_pattern" || kind == "type")
    return eval(node.first_child());
  return unknown(node);
}

Object* Interpreter::identifier(Node node) {
  const std::string_view name = node.text();
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (Object* found = scope->find(name)) return found;
  }
  Object* value = external(name, node);  // a builtin, or a name nobody bound
  return value;
}

Object* Interpreter::text(Node node) {
  Object* value = text_object(plain_text(node), true, node);
  std::vector<Node> open = {node};
  while (!open.empty()) {
    const Node at = open.back();
    open.pop_back();
    for (Node child = at.first_child(); child; child = child.next_sibling()) {
      if (child.is("interpolation")) {
        const Object* inner = eval(child.child("expression") ? child.child("expression") : child.first_child());
        value->taints |= inner->taints;
        value->constant = false;
        value->items.push_back(const_cast<Object*>(inner));
      } else if (child.is("string")) {
        if (value->name.empty()) value->name = plain_text(child);
        open.push_back(child);
      }
    }
  }
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
    return join(right, left, static_cast<Taints>(left->taints & (kRank | kLocal)));
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
  if (sign == "+" && fills_up(*b, *a)) value->taints &= static_cast<Taints>(~kUneven);
  if (a->constant && b->constant && a->type != Type::kText && b->type != Type::kText) {
    value->constant = true;
    value->type = Type::kNumber;
    if (sign == "+")
      value->number = a->number + b->number;
    else if (sign == "-")
      value->number = a->number - b->number;
    else if (sign == "*")
      value->number = a->number * b->number;
    else if (sign == "//" && b->number != 0)
      value->number = std::floor(a->number / b->number);
    else if (sign == "/" && b->number != 0)
      value->number = a->number / b->number;
    else
      value->constant = false;
    return value;
  }
  Arguments& given = program_.arguments_.emplace_back();
  given.list = {{"", left, node.child("left")}, {"", right, node.child("right")}};
  value->made_by = &given;
  value->callee = sign;
  if (value->type == Type::kUnknown) emit(EventKind::kOperator, sign, node, &given, nullptr, nullptr, value);
  return value;
}

Object* Interpreter::comparison(Node node) {
  Object* value = make(Type::kBool, node);
  std::vector<const Object*> sides;
  std::vector<std::string_view> signs;
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    if (child.field() == "operators") {
      signs.push_back(child.kind());
      continue;
    }
    sides.push_back(eval(child));
    value->taints |= sides.back()->taints;
  }
  Arguments& compared = program_.arguments_.emplace_back();
  for (const Object* side : sides) compared.list.push_back({"", const_cast<Object*>(side), node});
  value->made_by = &compared;
  if (!signs.empty()) value->callee = signs.front();
  if (sides.size() != 2 || signs.empty()) return value;
  const Object* a = main_of(sides[0]);
  const Object* b = main_of(sides[1]);
  const std::string_view sign = signs.front();
  if (sign == "is" || sign == "is not") {
    // Whether something is there does not depend on what is in it.
    if (b->type == Type::kNone && sides[0]->type != Type::kUnion && a->type != Type::kUnknown) value->taints = 0;
    return value;
  }
  // "rank == -1" asks whether there is a launcher, which is the same on all ranks.
  const auto impossible = [](const Object* some) {
    return some->type == Type::kNumber && some->constant && some->number < 0;
  };
  if (impossible(a) || impossible(b)) value->taints &= static_cast<Taints>(~kRank);
  const bool texts = a->type == Type::kText && b->type == Type::kText && a->constant && b->constant;
  const bool numbers = a->constant && b->constant && a->type != Type::kText && b->type != Type::kText;
  if (texts && (sign == "==" || sign == "!=")) {
    value->constant = true;
    value->number = (a->name == b->name) == (sign == "==") ? 1 : 0;
  } else if (numbers) {
    value->constant = true;
    const double x = a->number, y = b->number;
    value->number = (sign == "=="   ? x == y
                     : sign == "!=" ? x != y
                     : sign == "<"  ? x < y
                     : sign == ">"  ? x > y
                     : sign == "<=" ? x <= y
                                    : x >= y)
                        ? 1
                        : 0;
  }
  return value;
}

Object* Interpreter::subscript(Node node) {
  Object* object = eval(node.child("value"));
  const std::vector<Node> keys = node.children("subscript");
  Object* key = nullptr;
  for (const Node at : keys) {
    if (!at.is("slice")) {
      key = eval(at);
      continue;
    }
    // A strided or offset slice by rank: the pieces need not be equally long.
    const Type of = main_of(object)->type;
    Object* cut = make(of == Type::kSequence || of == Type::kModel ? of : Type::kUnknown, node);
    cut->taints = object->taints;
    cut->items = main_of(object)->items;
    cut->parent = object;
    cut->name = main_of(object)->name;
    cut->callee = "slice";
    for (Node piece = at.first_child(); piece; piece = piece.next_sibling()) {
      const Taints taints = eval(piece)->taints;
      if ((taints & kRank) != 0) cut->taints |= kUneven | kLocal;
      cut->taints |= static_cast<Taints>(taints & kUneven);
    }
    return cut;
  }
  return item_of(object, key, node);
}

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
  return join(yes, no, static_cast<Taints>(test->taints & kThroughNames));
}

Object* Interpreter::collection(Node node) {
  Object* value = make(Type::kSequence, node);
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    Object* item = eval(child);
    value->taints |= item->taints & static_cast<Taints>(~kStepCount);
    if (child.is("list_splat") && main_of(item)->type == Type::kSequence) {
      value->items.insert(value->items.end(), main_of(item)->items.begin(), main_of(item)->items.end());
    } else {
      value->items.push_back(item);
    }
  }
  return value;
}

Object* Interpreter::dictionary(Node node) {
  Object* value = make(Type::kDict, node);
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    if (child.is("pair")) {
      const Object* key = main_of(eval(child.child("key")));
      Object* item = eval(child.child("value"));
      value->taints |= item->taints;
      value->members.emplace_back(key->type == Type::kText ? key->name : std::string_view(), item);
    } else {
      const Object* more = main_of(eval(child));
      value->members.insert(value->members.end(), more->members.begin(), more->members.end());
      if (more->type != Type::kDict) value->members.emplace_back("**", const_cast<Object*>(more));
    }
  }
  return value;
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
