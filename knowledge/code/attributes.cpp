#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/keep.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxMembers = 256;

bool names_one(std::string_view name, std::initializer_list<std::string_view> parts) {
  for (const std::string_view some : parts) {
    if (contains_ignoring_case(name, some)) return true;
  }
  return false;
}

// Attributes whose value is a process rank, whatever object has them (accelerator, fabric, strategy, state).
constexpr std::array<std::string_view, 9> kRankAttributes = {
    "should_save",    "is_main_process", "is_local_main_process", "process_index", "local_process_index",
    "is_global_zero", "global_rank",     "is_last_process",       "is_rank_zero"};

// Methods that every module has: no parts of it, also when only looked at (hasattr(model, "eval")).
constexpr std::array<std::string_view, 18> kMethodsOfModules = {"eval",
                                                                "train",
                                                                "to",
                                                                "cuda",
                                                                "cpu",
                                                                "half",
                                                                "float",
                                                                "bfloat16",
                                                                "parameters",
                                                                "modules",
                                                                "state_dict",
                                                                "load_state_dict",
                                                                "zero_grad",
                                                                "forward",
                                                                "compile",
                                                                "generate",
                                                                "save_pretrained",
                                                                "named_parameters"};

bool is_rank_attribute(std::string_view name) {
  for (const std::string_view some : kRankAttributes) {
    if (some == name) return true;
  }
  return false;
}

}  // namespace

bool is_method_of_modules(std::string_view name) {
  return std::ranges::find(kMethodsOfModules, name) != kMethodsOfModules.end();
}

Object* Interpreter::attribute(Object* object, std::string_view name, Node node) {
  Object* owner = main_of(object);
  if (owner->type == Type::kExternal) {
    if (owner->file != nullptr) {
      Object* found = modules_[owner->file]->find(name);
      if (found != nullptr) return found;
    }
    return external(program_.intern(canonical_name(std::string(owner->name) + "." + std::string(name))), node);
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
  return part(owner, name, node);
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
      !names_one(name, {"config", "device", "dtype", "size", "width", "dim", "training", "grad", "weight", "bias"}))
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
  made->members = scope.bound();
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
  Arguments& given = program_.arguments_.emplace_back();
  given.list = {{"", bound->receiver, node}, {"", method->receiver, node}};
  bound->made_by = &given;
  return bound;
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
        Arguments& none = program_.arguments_.emplace_back();
        Object* value = invoke(*function, self, method->scope, none, node);
        // Computed once, kept in the object.
        if (ends_with_part(decorator, "cached_property")) self->members.emplace_back(name, value);
        return value;
      }
    }
    if (self == nullptr && method->receiver == nullptr) method->type = Type::kFunction;
    if (self != nullptr && method->type == Type::kMethod) return bound_method(method, node);
    return method;
  }
  for (const Class* base : owner.base_classes) {
    if (Object* found = class_object(*base)->member(name)) return found;
  }
  return self == nullptr ? unknown(node) : nullptr;
}

Object* Interpreter::item_of(Object* object, Object* key, Node node) {
  Object* owner = main_of(object);
  const Object* which = key == nullptr ? nullptr : main_of(key);
  if (owner->type == Type::kExternal && owner->name == "os.environ" && which != nullptr) {
    Arguments& given = program_.arguments_.emplace_back();
    given.list.push_back({"", key, node});
    return library_call("os.getenv", given, node);
  }
  if (which != nullptr && which->type == Type::kText && !which->name.empty()) {
    if (Object* found = owner->member(which->name)) return found;
  }
  if (owner->type == Type::kDict && !owner->members.empty() && (which == nullptr || !which->constant)) {
    Object* some = owner->members.front().second;
    for (std::size_t i = 1; i < owner->members.size() && i < 4; ++i) some = join(some, owner->members[i].second, 0);
    return some;
  }
  if (owner->type == Type::kSequence && which != nullptr && which->constant && !owner->element) {
    const double at = which->number < 0 ? which->number + static_cast<double>(owner->items.size()) : which->number;
    if (at >= 0 && at < static_cast<double>(owner->items.size())) return owner->items[static_cast<std::size_t>(at)];
  }
  if (owner->type == Type::kMesh) {
    Object* slice = make(Type::kMesh, node);
    slice->parent = owner;
    slice->receiver = owner;
    slice->callee = "slice";
    return slice;
  }
  if (owner->type == Type::kModel) {
    Object* found = element_of(owner, node);
    if (which != nullptr && which->constant) {
      found = make(Type::kModel, node);
      found->parent = owner;
      found->name = "item";
    }
    return found;
  }
  if (owner->type == Type::kExternal) return external(owner->name, node);  // list[int], Optional[...]
  Object* value =
      unknown(node, static_cast<Taints>((object->taints | (key == nullptr ? 0 : key->taints)) & ~kUneven & ~kEndless));
  value->parent = owner->type == Type::kStateDict || owner->type == Type::kParameters || owner->type == Type::kUnknown
                      ? owner
                      : nullptr;
  value->receiver = owner;
  value->callee = "[]";
  return value;
}

Object* Interpreter::element_of(Object* iterable, Node node) {
  Object* from = main_of(iterable);
  const Taints data = static_cast<Taints>(from->taints & (kRank | kLocal | kReduced));
  if (from->type == Type::kSequence && !from->items.empty()) {
    if (from->callee == "enumerate" || from->callee == "zip") {
      Object* tuple = make(Type::kSequence, node);
      for (Object* item : from->items) tuple->items.push_back(element_of(item, node));
      return tuple;
    }
    Object* value = from->items.front();
    for (std::size_t i = 1; i < from->items.size() && i < 8; ++i) value = join(value, from->items[i], 0);
    return value;
  }
  if (from->callee == "range") {
    Object* value = make(Type::kNumber, node);
    value->taints = static_cast<Taints>((from->taints & (kRank | kWorld | kLocal)) | kStepCount);
    return value;
  }
  if (from->type == Type::kModel) {  // a ModuleList, Sequential, or modules() of a model
    for (auto& [name, held] : from->members) {
      if (name == "*") return held;
    }
    Object* value = make(Type::kModel, node);
    value->element = true;
    value->parent = from;
    value->reversed = from->reversed;
    value->callee = from->callee;
    if (from->callee == ".modules" || from->callee == ".children") value->parent = from->receiver;
    from->members.emplace_back("*", value);
    return value;
  }
  if (from->callee == ".named_modules" || from->callee == ".named_children" || from->callee == ".named_parameters" ||
      from->callee == ".named_buffers") {
    Object* tuple = make(Type::kSequence, node);
    Object* item = make(from->type == Type::kParameters ? Type::kUnknown : Type::kModel, node);
    item->element = true;
    item->parent = from->type == Type::kParameters ? from : from->receiver;
    item->reversed = from->reversed;
    item->callee = from->callee;
    item->receiver = from;
    tuple->items = {text_object("", false, node), item};
    return tuple;
  }
  if (from->type == Type::kUnknown && from->parent != nullptr && (data & kLocal) == 0) {
    for (auto& [name, held] : from->members) {
      if (name == "*") return held;
    }
  }
  Object* value = unknown(node, static_cast<Taints>(data));
  if (from->type == Type::kLoader || names_one(from->name, {"loader", "batch", "data", "stream", "source", "iterator"}))
    value->taints |= kLocal;
  value->parent = from->type == Type::kUnknown || from->type == Type::kParameters ? from : nullptr;
  value->element = true;
  value->receiver = from;
  if (from->type == Type::kUnknown && from->members.size() < kMaxMembers) from->members.emplace_back("*", value);
  return value;
}

}  // namespace fx::knowledge::code
