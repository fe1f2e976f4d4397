#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/python/kind_table.h"

namespace fx::knowledge::code {
namespace {

constexpr int kMaxDepth = 700;  // of nested evaluation, over all calls

}  // namespace

Interpreter::Evaluator Interpreter::evaluator_of(Node node) {
  using I = Interpreter;
  static const python::KindTable<Evaluator> table = {
      {"identifier", &I::identifier},
      {"attribute", &I::attribute_expression},
      {"call", &I::call},
      {"string", &I::text},
      {"concatenated_string", &I::text},
      {"integer", &I::number_literal},
      {"float", &I::number_literal},
      {"true", &I::boolean_literal},
      {"false", &I::boolean_literal},
      {"none", &I::none_literal},
      {"parenthesized_expression", &I::first_inside},
      {"await", &I::first_inside},
      {"list_splat", &I::first_inside},
      {"list_splat_pattern", &I::first_inside},
      {"dictionary_splat", &I::first_inside},
      {"as_pattern", &I::first_inside},
      {"type", &I::first_inside},
      {"expression_list", &I::collection},
      {"tuple", &I::collection},
      {"list", &I::collection},
      {"set", &I::collection},
      {"dictionary", &I::dictionary},
      {"binary_operator", &I::binary},
      {"boolean_operator", &I::binary},
      {"comparison_operator", &I::comparison},
      {"not_operator", &I::negation},
      {"unary_operator", &I::unary},
      {"subscript", &I::subscript},
      {"conditional_expression", &I::conditional},
      {"list_comprehension", &I::comprehension},
      {"generator_expression", &I::comprehension},
      {"set_comprehension", &I::comprehension},
      {"dictionary_comprehension", &I::comprehension},
      {"lambda", &I::lambda},
      {"assignment", &I::assignment},
      {"augmented_assignment", &I::augmented_assignment},
      {"named_expression", &I::named_expression},
      {"yield", &I::yield},
  };
  return table.of(node);
}

Object* Interpreter::eval(Node node) {
  if (!node || spent() || depth_ > kMaxDepth) return unknown(node);
  const Evaluator evaluate = evaluator_of(node);
  if (evaluate == nullptr) return unknown(node);
  ++depth_;
  Object* value = (this->*evaluate)(node);
  --depth_;
  return value == nullptr ? unknown(node) : value;
}

Object* Interpreter::identifier(Node node) {
  const std::string_view name = node.text();
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (Object* found = scope->find(name)) return found;
  }
  return external(name, node);  // a builtin, or a name nobody bound
}

Object* Interpreter::attribute_expression(Node node) {
  return attribute(eval(node.child("object")), node.child("attribute").text(), node);
}

Object* Interpreter::number_literal(Node node) {
  const auto value = to_number(replace_all(std::string(node.text()), "_", ""));
  return value ? number(*value, node) : make(Type::kNumber, node);
}

Object* Interpreter::boolean_literal(Node node) {
  Object* value = number(node.is("true") ? 1 : 0, node);
  value->type = Type::kBool;
  return value;
}

Object* Interpreter::none_literal(Node) {
  return none_;
}

Object* Interpreter::first_inside(Node node) {
  return eval(node.first_child());
}

// *rows, and *rows(x), which the grammar takes for a call of *rows.
bool Interpreter::is_unpacked(Node item) {
  Node at = item;
  while (at.is("call") || at.is("attribute")) at = at.is("call") ? at.child("function") : at.child("object");
  return at.is("list_splat") || at.is("list_splat_pattern");
}

Object* Interpreter::lambda(Node node) {
  Object* value = make(Type::kFunction, node);
  if (const auto found = file_->function_at.find(node.index()); found != file_->function_at.end())
    value->function = found->second;
  value->scope = scope_;
  return value;
}

Object* Interpreter::assignment(Node node) {
  if (!node.child("right")) return none_;
  Object* value = eval(node.child("right"));
  if (value->type == Type::kUnknown && node.child("type")) value = typed(value, node.child("type"), *file_);
  assign(node.child("left"), value, node);
  return value;
}

Object* Interpreter::named_expression(Node node) {
  Object* value = eval(node.child("value"));
  assign(node.child("name"), value, node);
  return value;
}

}  // namespace fx::knowledge::code
