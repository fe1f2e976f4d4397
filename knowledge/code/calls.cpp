#include <algorithm>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxCalls = 24;  // functions of the files on the stack

bool is_property_or_context(const Function& function) {
  return std::ranges::any_of(function.decorators,
                             [](std::string_view name) { return ends_with_part(name, "contextmanager"); });
}

Node parameter_name(Node parameter) {
  if (parameter.is("identifier")) return parameter;
  if (parameter.is("typed_parameter") || parameter.is("list_splat_pattern") || parameter.is("dictionary_splat_pattern"))
    return parameter_name(parameter.first_child());
  return parameter.child("name");
}

}  // namespace

Object* Interpreter::call(Node node) {
  const Node target = node.child("function");
  if (target.is("attribute")) {
    Object* receiver = eval(target.child("object"));
    const std::string_view name = target.child("attribute").text();
    Object* main = main_of(receiver);
    // super().method(...)
    if (main->type == Type::kExternal && main->callee == "super" && scope_->function != nullptr &&
        frame_->self != nullptr) {
      Arguments& given = arguments(node.child("arguments"));
      const Class* owner = scope_->function->of_class;
      for (const Class* base : owner == nullptr ? std::vector<const Class*>{} : owner->base_classes) {
        if (const Function* inherited = base->method(name))
          return invoke(*inherited, const_cast<Object*>(frame_->self), modules_[inherited->file], given, node);
      }
      return name == "state_dict" ? make(Type::kStateDict, node) : unknown(node, taints_of(given));
    }
    Object* held = main->member(name);
    // A wrapper hands on what it does not have itself.
    const Object* owner_of_name = main->wrapped != nullptr && !is_method_of_modules(name) ? core_of(main) : main;
    const Class* of = owner_of_name->of_class;
    const bool own = of != nullptr && (of->method(name) != nullptr || class_object(*of)->member(name) != nullptr);
    if (main->type == Type::kExternal || main->type == Type::kClass || held != nullptr || own) {
      Object* callee = attribute(receiver, name, target);
      Arguments& given = arguments(node.child("arguments"));
      if (main->type == Type::kModel && main_of(callee)->type == Type::kUnknown && main_of(callee)->parent == main)
        promote(callee);
      return call_object(callee, given, node);
    }
    Arguments& given = arguments(node.child("arguments"));
    if (const Class* owner = class_with_method(name);
        owner != nullptr && main->type == Type::kUnknown && main->callee.empty()) {
      adopt(main, *owner, node);
      return call_object(attribute(receiver, name, target), given, node);
    }
    return method_call(receiver, name, given, node);
  }
  Object* callee = eval(target);
  Arguments& given = arguments(node.child("arguments"));
  return call_object(callee, given, node);
}

Arguments& Interpreter::arguments(Node node) {
  Arguments collected;
  if (node.is("generator_expression")) {
    collected.list.push_back({"", eval(node), node});
  } else {
    for (Node child = node.first_child(); child; child = child.next_sibling()) {
      if (child.is("keyword_argument")) {
        collected.list.push_back({child.child("name").text(), eval(child.child("value")), child});
      } else if (child.is("list_splat") || child.is("dictionary_splat")) {
        unpack(collected, eval(child.first_child()), child.is("dictionary_splat"), child);
      } else {
        collected.list.push_back({"", eval(child), child});
      }
    }
  }
  return program_.arguments_.emplace_back(std::move(collected));
}

void Interpreter::unpack(Arguments& into, Object* value, bool by_name, Node node) {
  const Object* from = main_of(value);
  // One of several, depending on the path: these, or something else.
  if (value->type == Type::kUnion && alternatives(value).size() > 1)
    into.list.push_back({by_name ? "**" : "*", value, node});
  if (by_name && from->type == Type::kDict && from->callee != "comprehension") {
    for (const auto& [name, item] : from->members) {
      if (!name.empty()) into.list.push_back({name, item, node});
    }
    return;
  }
  if (!by_name && from->type == Type::kSequence && !from->element) {
    for (Object* item : from->items) into.list.push_back({"", item, node});
    return;
  }
  into.list.push_back({by_name ? "**" : "*", value, node});
}

Object* Interpreter::call_object(Object* callee, Arguments& given, Node node) {
  Object* main = main_of(callee);
  switch (main->type) {
    case Type::kFunction:
      if (main->function == nullptr) return unknown(node, taints_of(given));
      return call_function(main, given, node);
    case Type::kMethod:
      if (main->function != nullptr) return call_method(main, given, node);
      return method_call(main->receiver, main->name, given, node);
    case Type::kClass:
      return call_class(*main->of_class, given, node);
    case Type::kExternal:
      return library_call(main->name, given, node);
    case Type::kPartial: {
      Arguments& all = program_.arguments_.emplace_back();
      for (std::size_t i = 1; i < main->made_by->list.size(); ++i) all.list.push_back(main->made_by->list[i]);
      for (const Argument& argument : given.list) all.list.push_back(argument);
      return call_object(main->receiver, all, node);
    }
    case Type::kModel:
      return forward(main, given, node);
    default:
      break;
  }
  if (main->of_class != nullptr) {
    if (const Function* function = main->of_class->method("__call__"))
      return invoke(*function, main, modules_[function->file], given, node);
  }
  Object* result = unknown(node, static_cast<Taints>(taints_of(given) | (main->taints & (kRank | kLocal))));
  result->callee = "()";
  result->made_by = &given;
  result->receiver = main;
  emit(EventKind::kCall, "()", node, &given, main, main, result);
  return result;
}

// A plain function, or a method got through its class: Base.__init__(self, ...), or inside a decorator.
Object* Interpreter::call_function(Object* called, Arguments& given, Node node) {
  const Function& function = *called->function;
  const bool takes_self = function.of_class != nullptr && std::ranges::none_of(function.decorators, [](auto name) {
                            return name == "staticmethod" || name == "classmethod";
                          });
  if (!takes_self || given.list.empty() || !given.list.front().name.empty())
    return invoke(function, nullptr, called->scope, given, node);
  Arguments& rest = program_.arguments_.emplace_back();
  rest.list.assign(given.list.begin() + 1, given.list.end());
  return invoke(function, main_of(given.list.front().value), called->scope, rest, node);
}

// A method of a class of the files. That of a model is an event of its own: hooks of wrappers see only __call__.
Object* Interpreter::call_method(Object* method, Arguments& given, Node node) {
  Object* self = method->receiver;
  if (self != nullptr && self->type == Type::kModel && frame_->self != self) {
    const bool fills = contains(method->name, "init") || method->name == "reset_parameters";
    emit(fills ? EventKind::kInitWeights : EventKind::kForwardMethod, program_.intern("." + std::string(method->name)),
         node, &given, self, self, nullptr);
  }
  return invoke(*method->function, self, method->scope, given, node);
}

// The only module class of the files that has a method of this name.
const Class* Interpreter::class_with_method(std::string_view name) const {
  const Class* found = nullptr;
  if (name == "forward") return nullptr;
  for (const Class& known : program_.classes_) {
    const bool has = std::ranges::any_of(known.methods, [&](const Function* method) { return method->name == name; });
    if (!has) continue;
    if (!known.is_module || found != nullptr) return nullptr;
    found = &known;
  }
  return found;
}

// Makes an unknown object an instance of a class of the files, with the attributes its constructor would set.
void Interpreter::adopt(Object* object, const Class& known, Node node) {
  object->of_class = &known;
  object->type = known.is_module                                 ? Type::kModel
                 : known.is_dataset || known.is_iterable_dataset ? Type::kDataset
                                                                 : Type::kInstance;
  if (known.is_module && object->callee.empty()) object->callee = known.name;
  if (const Function* init = known.method("__init__")) {
    invoke(*init, object, modules_[init->file], unknown_arguments(), node);
  }
}

Object* Interpreter::call_class(const Class& owner, Arguments& given, Node node) {
  Object* object = make(owner.is_module ? Type::kModel : Type::kInstance, node);
  object->of_class = &owner;
  object->callee = owner.name;
  object->made_by = &given;
  if (owner.is_iterable_dataset || owner.is_dataset) object->type = Type::kDataset;
  emit(EventKind::kCall, owner.name, node, &given, object, nullptr, object);
  if (const Function* init = owner.method("__init__")) {
    invoke(*init, object, modules_[init->file], given, node);
    return object;
  }
  // A dataclass or a NamedTuple: annotated attributes in order.
  int position = 0;
  for (const Node child : owner.node.child("body").children()) {
    const Node field = child.first_child();
    if (!child.is("expression_statement") || !field.is("assignment") || !field.child("type")) continue;
    const std::string_view name = field.child("left").text();
    if (const Argument* found = given.find(name, position++)) object->members.emplace_back(name, found->value);
  }
  object->taints = taints_of(given);
  return object;
}

Object* Interpreter::invoke(const Function& function, Object* self, Scope* defined_in, Arguments& given, Node node) {
  const bool again = std::ranges::find(stack_, &function) != stack_.end();
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
  frame = {frame_,
           &function,
           node,
           file_,
           self == nullptr && frame_ != nullptr && function.of_class == nullptr ? nullptr : self,
           frame_ == nullptr ? 0 : frame_->depth + 1};
  emit(EventKind::kEnter, function.name, node, &given, self, self, nullptr);

  Scope* const scope_before = scope_;
  const SourceFile* const file_before = file_;
  const Guard* const guard_before = guard_;
  const Context* const context_before = context_;
  const Frame* const frame_before = frame_;
  std::vector<Object*> returned;
  std::vector<std::uint32_t> returns, breaks, continues;
  std::swap(returned, returned_);
  std::swap(returns, return_jumps_);
  std::swap(breaks, loop_breaks_);
  std::swap(continues, turn_continues_);
  scope_ = &scope;
  file_ = function.file;
  frame_ = &frame;
  context_ = decorator_contexts(function, context_);
  guard_ = decorator_guard(function);
  stack_.push_back(&function);

  Object* result = none_;
  const Node body = function.node.child("body");
  if (function.node.is("lambda")) {
    result = eval(body);
  } else {
    const Flow flow = block(body);
    for (std::size_t i = 0; i < returned_.size(); ++i) result = i == 0 ? returned_[0] : join(result, returned_[i], 0);
    if (!returned_.empty() && flow == Flow::kNormal) result = join(result, none_, 0);
  }

  stack_.pop_back();
  for (const std::uint32_t index : return_jumps_)
    trace_->events[index].skip_end = static_cast<std::uint32_t>(trace_->events.size());
  std::swap(returned, returned_);
  std::swap(returns, return_jumps_);
  std::swap(breaks, loop_breaks_);
  std::swap(continues, turn_continues_);
  scope_ = scope_before;
  file_ = file_before;
  guard_ = guard_before;
  context_ = context_before;
  frame_ = frame_before;
  return result;
}

void Interpreter::bind_parameters(const Function& function, Object* self, Arguments& given, Scope& scope) {
  const Node parameters = function.node.child("parameters");
  int position = 0;
  bool first = true, keyword_only = false;
  std::size_t used = 0;
  for (const Node parameter : parameters.children()) {
    if (parameter.is("keyword_separator")) keyword_only = true;
    const Node name = parameter_name(parameter);
    if (!name) continue;
    if (first && function.of_class != nullptr && (self != nullptr || name.text() == "self" || name.text() == "cls") &&
        std::ranges::find(function.decorators, "staticmethod") == function.decorators.end()) {
      first = false;
      scope.set(name.text(), self == nullptr ? unknown(name) : self);
      continue;
    }
    first = false;
    const Node plain = parameter.is("typed_parameter") ? parameter.first_child() : parameter;
    if (plain.is("list_splat_pattern")) {
      Object* rest = make(Type::kSequence, name);
      std::size_t seen = 0;
      for (const Argument& argument : given.list) {
        if (argument.name.empty() && seen++ >= used) rest->items.push_back(argument.value);
      }
      scope.set(name.text(), rest);
      keyword_only = true;
      continue;
    }
    if (plain.is("dictionary_splat_pattern")) {
      Object* rest = make(Type::kDict, name);
      for (const Argument& argument : given.list) {
        if (!argument.name.empty() && argument.name != "*" && scope.find(argument.name) == nullptr)
          rest->members.emplace_back(argument.name, argument.value);
      }
      if (given.has_unknown()) rest->members.emplace_back("**", unknown(name));
      scope.set(name.text(), rest);
      continue;
    }
    const Argument* found = given.find(name.text(), keyword_only ? -1 : position);
    ++position;
    ++used;
    Object* value = nullptr;
    if (found != nullptr) {
      value = found->value;
    } else if (parameter.child("value") && (!given.has_unknown() || parameter.child("value").is("string"))) {
      Scope* const outer = scope_;
      const SourceFile* const file = file_;
      scope_ = modules_[function.file];
      file_ = function.file;
      value = eval(parameter.child("value"));
      scope_ = outer;
      file_ = file;
    } else {
      value = unknown_parameter(parameter, function);
    }
    Object* main = main_of(value);
    if (main->type == Type::kUnknown && parameter.child("type"))
      value = typed(value, parameter.child("type"), *function.file);
    if (main->type == Type::kUnknown && main->name.empty()) main->name = name.text();
    scope.set(name.text(), value);
  }
}

Object* Interpreter::forward(Object* model, Arguments& given, Node node) {
  Object* result = unknown(node, static_cast<Taints>((taints_of(given) & kReduced) | kLocal));
  result->callee = "()";
  result->made_by = &given;
  result->receiver = model;
  emit(EventKind::kForward, "()", node, &given, model, model, result);
  Object* core = const_cast<Object*>(core_of(model));
  if (core->of_class == nullptr) return result;
  const Function* function = core->of_class->method("forward");
  if (function == nullptr) return result;
  Object* inner = invoke(*function, core, modules_[function->file], given, node);
  inner = main_of(inner);
  if (inner->type == Type::kUnknown) {
    result->taints |= static_cast<Taints>(inner->taints & ~kRank);
  } else if (inner->type == Type::kSequence || inner->type == Type::kDict) {
    return inner;
  }
  return result;
}

// torch.multiprocessing.spawn(worker, args=(...)): the function gets the process index first.
Object* Interpreter::spawn(Arguments& given, Node node) {
  Object* worker = main_of(const_cast<Object*>(given.get("fn", 0)));
  Arguments& passed = program_.arguments_.emplace_back();
  Object* index = make(Type::kNumber, node);
  index->taints = kRank;
  index->identity = Identity::kSpawnIndex;
  passed.list.push_back({"", index, node});
  if (const Object* rest = main_of(given.get("args", 1))) {
    for (Object* item : rest->items) passed.list.push_back({"", item, node});
  }
  emit(EventKind::kCall, "torch.multiprocessing.spawn", node, &given, nullptr, nullptr, nullptr);
  if (worker != nullptr) call_object(worker, passed, node);
  return none_;
}

}  // namespace fx::knowledge::code
