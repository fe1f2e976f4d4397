#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/keep.h"
#include "knowledge/code/library/library.h"
#include "knowledge/code/models.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxMembers = 256;

// Attributes whose value is a process rank, whatever object has them (accelerator, fabric, strategy, state).
constexpr std::array<std::string_view, 11> kRankAttributes = {
    "should_save",     "is_main_process",       "is_local_main_process", "process_index",
    "is_rank_zero",    "local_process_index",   "is_global_zero",        "global_rank",
    "is_last_process", "is_world_process_zero", "is_local_process_zero"};

bool is_rank_attribute(std::string_view name) {
  for (const std::string_view some : kRankAttributes) {
    if (some == name) return true;
  }
  return false;
}

// Of an optimizer: dicts that hold the parameters of its model.
void fill_parameter_groups(Recorder& run, const Object& optimizer, Object* groups, Node node) {
  const Object* given = optimizer.made_by == nullptr ? nullptr : main_of(optimizer.made_by->get("params", 0));
  auto* model = const_cast<Object*>(given == nullptr ? nullptr : model_in(given));
  if (model == nullptr) return;
  Object* parameters = run.make(Type::kParameters, node);
  parameters->callee = ".parameters";
  parameters->receiver = model;
  parameters->items = {model};
  Object* group = run.make(Type::kDict, node);
  group->members.emplace_back("params", parameters);
  groups->type = Type::kSequence;
  groups->items = {group};
  groups->element = true;  // one stands for all
}

}  // namespace

Object* Interpreter::attribute(Object* object, std::string_view name, Node node) {
  Object* owner = main_of(object);
  if (owner->type == Type::kExternal) {
    if (owner->file != nullptr) {
      Object* found = modules_[owner->file]->find(name);
      if (found != nullptr) return found;
    }
    return external(member_name(owner->name, name), node);
  }
  if (Object* found = owner->member(name)) {
    if (object->type != Type::kUnion || (object->taints & ~found->taints) == 0) return found;
    return found;
  }
  if (owner->type == Type::kClass) return attribute_of_class(*owner->of_class, nullptr, name, node);
  if (owner->of_class != nullptr) {
    if (Object* found = attribute_of_class(*owner->of_class, owner, name, node)) return found;
  }
  if (is_rank_attribute(name) && (name != "should_save" || contains(owner->name, "args"))) {
    Object* value = make(name.substr(0, 3) == "is_" ? Type::kBool : Type::kNumber, node);
    value->taints = kRank;
    value->name = name;
    value->identity = name == "process_index" || name == "global_rank" ? Identity::kGlobalRank
                      : name == "local_process_index"                  ? Identity::kLocalRank
                                                                       : Identity::kNone;
    return value;
  }
  if (owner->type == Type::kAccelerator && name == "num_processes") {
    Object* value = make(Type::kNumber, node);
    value->taints = kWorld;
    value->identity = Identity::kWorldSize;
    return value;
  }
  if (owner->wrapped != nullptr) {
    if (name == "module" || name == "_orig_mod" || name == "_checkpoint_wrapped_module") return owner->wrapped;
    return attribute(owner->wrapped, name, node);
  }
  if (owner->type == Type::kDict || owner->type == Type::kSequence || owner->type == Type::kText)
    return unknown(node, owner->taints);
  Object* value = part(owner, name, node);
  if (owner->type == Type::kOptimizer && name == "param_groups") fill_parameter_groups(*this, *owner, value, node);
  return value;
}

// An attribute that nobody has set: the same object each time.
Object* Interpreter::part(Object* owner, std::string_view name, Node node) {
  if (owner->type == Type::kModel && is_method_of_modules(name)) {
    Object* method = make(Type::kMethod, node);
    method->receiver = owner;
    method->name = name;
    return method;
  }
  Object* value = make(Type::kUnknown, node);
  value->name = name;
  value->parent = owner;
  value->taints = static_cast<Taints>(owner->taints & ~kUneven & ~kEndless);
  if (owner->type == Type::kModel &&
      !mentions(name, {"config", "device", "dtype", "size", "width", "dim", "training", "grad", "weight", "bias"}))
    value->type = Type::kModel;
  if (owner->type == Type::kLoader && name == "sampler") value->type = Type::kSampler;
  if (owner->members.size() < kMaxMembers) owner->members.emplace_back(name, value);
  return value;
}

Object* Interpreter::class_object(const Class& owner) {
  Object*& object = class_objects_[&owner];
  if (object != nullptr) return object;
  object = make(Type::kClass, owner.node);
  object->of_class = &owner;
  object->file = owner.file;
  object->name = owner.name;
  Object* const made = object;
  Scope& scope = scopes_.emplace_back();
  scope.outer = modules_[owner.file];
  scope.file = owner.file;
  Scope* const outer = scope_;
  const SourceFile* const file = file_;
  scope_ = &scope;
  file_ = owner.file;
  for (const Node child : owner.node.child("body").children()) {
    if (child.is("expression_statement")) statement(child);
  }
  scope_ = outer;
  file_ = file;
  const auto bound = scope.bound();
  made->members.assign(bound.begin(), bound.end());
  return made;
}

// A method whose class decorates it is the decorated function, bound to its object.
Object* Interpreter::bound_method(Object* method, Node node) {
  const Function& function = *method->function;
  if (function.decorator_nodes.empty() || method->receiver == nullptr) return method;
  const Keep keep_scope(scope_);
  const Keep keep_file(file_);
  scope_ = method->scope;
  file_ = function.file;
  if (std::ranges::none_of(function.decorator_nodes, [&](Node at) { return of_the_files(at); })) return method;
  Object* plain = make(Type::kFunction, function.node);
  plain->function = &function;
  plain->scope = method->scope;
  Object* bound = make(Type::kPartial, node);
  bound->receiver = main_of(decorated(plain));
  bound->name = method->name;
  Arguments& given = arguments_of();
  given.list = {{"", bound->receiver, node}, {"", method->receiver, node}};
  bound->made_by = &given;
  return bound;
}

// @singledispatchmethod: one of those that are registered under its name, by the class of what it is given.
Object* Interpreter::with_others(const Class& owner, Object* method, Node node) {
  if (method->function == nullptr || std::ranges::none_of(method->function->decorators, [](std::string_view decorator) {
        return ends_with_part(decorator, "singledispatchmethod");
      }))
    return method;
  Object* all = method;
  for (const Function* other : owner.methods) {
    const bool registered = std::ranges::any_of(other->decorators, [&](std::string_view decorator) {
      return ends_with_part(decorator, "register") &&
             decorator.substr(0, decorator.size() - sizeof(".register") + 1) == method->name;
    });
    if (!registered) continue;
    Object* one = make(Type::kMethod, node);
    one->function = other;
    one->receiver = method->receiver;
    one->name = method->name;
    one->scope = method->scope;
    all = join(all, one, 0);
  }
  return all;
}

Object* Interpreter::attribute_of_class(const Class& owner, Object* self, std::string_view name, Node node) {
  const Object* held = class_object(owner);
  if (Object* found = held->member(name)) return found;
  if (const Function* function = owner.method(name)) {
    Object* method = make(Type::kMethod, node);
    method->function = function;
    method->receiver = self;
    method->name = name;
    method->scope = modules_[function->file];
    for (const std::string_view decorator : function->decorators) {
      if (decorator == "staticmethod") method->type = Type::kFunction;
      if (decorator == "classmethod") method->receiver = class_object(owner);
      if ((decorator == "property" || ends_with_part(decorator, "cached_property")) && self != nullptr) {
        Arguments& none = arguments_of();
        Object* value = invoke(*function, self, method->scope, none, node);
        // Computed once, kept in the object.
        if (ends_with_part(decorator, "cached_property")) self->members.emplace_back(name, value);
        return value;
      }
    }
    if (self == nullptr && method->receiver == nullptr) method->type = Type::kFunction;
    if (self != nullptr && method->type == Type::kMethod) return with_others(owner, bound_method(method, node), node);
    return method;
  }
  for (const Class* base : owner.base_classes) {
    if (Object* found = class_object(*base)->member(name)) return found;
  }
  return self == nullptr ? unknown(node) : nullptr;
}

}  // namespace fx::knowledge::code
