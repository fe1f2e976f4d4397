// Functions of the files: what a call of one runs, and what its parameters get.
#include <algorithm>
#include <utility>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/keep.h"
#include "knowledge/code/names.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxCalls = 24;  // functions of the files on the stack

bool is_property_or_context(const Function& function) {
  return std::ranges::any_of(function.decorators,
                             [](std::string_view name) { return ends_with_part(name, "contextmanager"); });
}

bool is_static(const Function& function) {
  return std::ranges::find(function.decorators, "staticmethod") != function.decorators.end();
}

Node parameter_name(Node parameter) {
  if (parameter.is("identifier")) return parameter;
  if (parameter.is("typed_parameter") || parameter.is("list_splat_pattern") || parameter.is("dictionary_splat_pattern"))
    return parameter_name(parameter.first_child());
  return parameter.child("name");
}

// *args: what the parameters before have not used.
Object* rest_by_position(Recorder& run, const Arguments& given, std::size_t used, Node name) {
  Object* rest = run.make(Type::kSequence, name);
  std::size_t seen = 0;
  for (const Argument& argument : given.list) {
    if (argument.name.empty() && seen++ >= used) rest->items.push_back(argument.value);
  }
  return rest;
}

// **kwargs: what no parameter has the name of.
Object* rest_by_name(Recorder& run, const Arguments& given, const Scope& scope, Node name) {
  Object* rest = run.make(Type::kDict, name);
  for (const Argument& argument : given.list) {
    if (!argument.name.empty() && argument.name != "*" && scope.find(argument.name) == nullptr)
      rest->members.emplace_back(argument.name, argument.value);
  }
  if (given.has_unknown()) rest->members.emplace_back("**", run.unknown(name));
  return rest;
}

// `save(net)` under a condition, where save says that it takes an FSDP module: only there the net is one.
Object* as_seen_here(Recorder& run, Object* model, Node name) {
  Object* seen = run.make(Type::kModel, name);
  seen->wrapped = model;
  seen->parent = model->parent;
  seen->name = model->name;
  seen->sharding = std::exchange(model->sharding, Sharding::kNone);
  return seen;
}

bool is_for_a_part(const Arguments& given) {
  return std::ranges::any_of(given.list, [](const Argument& argument) {
    const Object* value = main_of(argument.value);
    return value->type == Type::kModel && value->element;
  });
}

}  // namespace

Object* Interpreter::invoke(const Function& function, Object* self, Scope* defined_in, Arguments& given, Node node) {
  // The same function from another place of definition, as the wrapper that a decorator makes, is another one.
  const auto running = std::ranges::count(stack_, std::pair(&function, defined_in));
  // Of a walk down a tree of modules one step is seen: visit(model), and visit(child) inside of it.
  const bool again = running > (pass_ == 1 && is_for_a_part(given) ? 1 : 0);
  if (again || stack_.size() >= kMaxCalls || spent()) {
    if (!again) trace_->complete = false;
    return unknown(node, taints_of(given));
  }
  if (function.is_generator) {
    Object* generator = make(Type::kGenerator, node);
    generator->function = &function;
    generator->receiver = self;
    generator->made_by = &given;
    generator->scope = defined_in;
    generator->callee = function.name;
    generator->taints = static_cast<Taints>(taints_of(given) & (kRank | kLocal));
    if (is_property_or_context(function)) executed_.insert(&function);
    return generator;
  }
  return run_body(function, self, defined_in, given, node);
}

Object* Interpreter::run_body(const Function& function, Object* self, Scope* defined_in, Arguments& given, Node node) {
  executed_.insert(&function);
  Scope& scope = scopes_.emplace_back();
  scope.outer = defined_in;
  scope.file = function.file;
  scope.function = &function;
  bind_parameters(function, self, given, scope);
  Frame& frame = program_.frames_.emplace_back();
  frame = {frame_, &function, node, file_, self, frame_ == nullptr ? 0 : frame_->depth + 1};
  emit(EventKind::kEnter, function.name, node, &given, self, self, nullptr);

  const Keep keep_scope(scope_);
  const Keep keep_file(file_);
  const Keep keep_guard(guard_);
  const Keep keep_context(context_);
  const Keep keep_frame(frame_);
  const Fresh returned(returned_);
  const Fresh returns(return_jumps_);
  const Fresh breaks(loop_breaks_);
  const Fresh continues(turn_continues_);
  scope_ = &scope;
  file_ = function.file;
  frame_ = &frame;
  context_ = decorator_contexts(function, context_);
  guard_ = decorator_guard(function);
  stack_.emplace_back(&function, defined_in);
  Object* value = run_statements(function);
  stack_.pop_back();
  land(return_jumps_);
  return value;
}

// Its value: whatever was returned, on any path.
Object* Interpreter::run_statements(const Function& function) {
  const Node body = function.node.child("body");
  if (function.node.is("lambda")) return eval(body);
  const Flow flow = block(body);
  if (returned_.empty()) return none_;
  Object* value = returned_.front();
  for (std::size_t i = 1; i < returned_.size(); ++i) value = join(value, returned_[i], 0);
  return flow == Flow::kNormal ? join(value, none_, 0) : value;
}

void Interpreter::bind_parameters(const Function& function, Object* self, Arguments& given, Scope& scope) {
  int position = 0;  // -1: by keyword only
  std::size_t used = 0;
  bool first = true;
  const Node parameters = function.node.child("parameters");
  for (Node parameter = parameters.first_child(); parameter; parameter = parameter.next_sibling()) {
    if (parameter.is("keyword_separator")) position = -1;
    const Node name = parameter_name(parameter);
    if (!name) continue;
    const bool is_self = first && function.of_class != nullptr && !is_static(function) &&
                         (self != nullptr || name.text() == "self" || name.text() == "cls");
    first = false;
    const Node plain = parameter.is("typed_parameter") ? parameter.first_child() : parameter;
    if (is_self) {
      scope.set(name.text(), self == nullptr ? unknown(name) : self);
    } else if (plain.is("list_splat_pattern")) {
      scope.set(name.text(), rest_by_position(*this, given, used, name));
      position = -1;
    } else if (plain.is("dictionary_splat_pattern")) {
      scope.set(name.text(), rest_by_name(*this, given, scope, name));
    } else {
      scope.set(name.text(), argument_for(parameter, function, given, position));
      if (position >= 0) ++position;
      ++used;
    }
  }
}

// What one parameter gets: the argument, its default, or something unknown of its declared type.
Object* Interpreter::argument_for(Node parameter, const Function& function, const Arguments& given, int position) {
  const Node name = parameter_name(parameter), usual = parameter.child("value"), type = parameter.child("type");
  Object* value = nullptr;
  if (const Argument* found = given.find(name.text(), position)) {
    value = found->value;
  } else if (usual && (!given.has_unknown() || usual.is("string"))) {
    const Keep keep_scope(scope_);
    const Keep keep_file(file_);
    scope_ = modules_[function.file];
    file_ = function.file;
    value = eval(usual);
    // Whoever calls may say otherwise.
    if (given.has_unknown() && main_of(value)->type == Type::kText) {
      Object* other = unknown_parameter(parameter, function);
      other->name = name.text();
      value = join(value, other, 0);
    }
  } else {
    value = unknown_parameter(parameter, function);
  }
  Object* main = main_of(value);
  if (main->type == Type::kUnknown && type) {
    value = typed(value, type, *function.file);
    if (main->sharding != Sharding::kNone && guard_ != main->guard) value = as_seen_here(*this, main, name);
  }
  if (main->type == Type::kUnknown && main->name.empty()) main->name = name.text();
  return value;
}

}  // namespace fx::knowledge::code
