#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/keep.h"
#include "knowledge/code/library/library.h"
#include "knowledge/code/models.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

// The only module class of the files that has a method of this name.
const Class* class_with_method(const Program& program, std::string_view name) {
  const Class* found = nullptr;
  if (name == "forward") return nullptr;
  for (const Class& known : program.classes()) {
    const bool has = std::ranges::any_of(known.methods, [&](const Function* method) { return method->name == name; });
    if (!has) continue;
    if (!known.is_module || found != nullptr) return nullptr;
    found = &known;
  }
  return found;
}

// torch.no_grad()(function): the function with the manager around each call; nullptr: something else.
Object* managed(Recorder& run, Object* manager, const Arguments& given, Node node) {
  if (manager->callee != "torch.no_grad" && manager->callee != "torch.inference_mode") return nullptr;
  const Object* function = given.list.empty() ? nullptr : main_of(given.list.front().value);
  if (function == nullptr || function->function == nullptr) return nullptr;
  Object* made = run.make(function->type, node);
  *made = *function;
  made->parent = manager;
  return made;
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
    if (const Class* owner = class_with_method(program_, name);
        owner != nullptr && main->type == Type::kUnknown && main->callee.empty()) {
      adopt(main, *owner, node);
      return call_object(attribute(receiver, name, target), given, node);
    }
    return call_foreign_method(*this, receiver, name, given, node);
  }
  Object* callee = eval(target);
  Arguments& given = arguments(node.child("arguments"));
  return call_object(callee, given, node);
}

Arguments& Interpreter::arguments(Node node) {
  Arguments& collected = arguments_of();
  if (node.is("generator_expression")) {
    collected.list.push_back({"", eval(node), node});
  } else {
    collected.list.reserve(node.child_count());
    for (Node child = node.first_child(); child; child = child.next_sibling()) {
      if (child.is("keyword_argument")) {
        collected.list.push_back({child.child("name").text(), eval(child.child("value")), child});
      } else if (child.is("dictionary_splat")) {
        unpack(collected, eval(child.first_child()), true, child);
      } else if (is_unpacked(child)) {
        unpack(collected, eval(child), false, child);
      } else {
        collected.list.push_back({"", eval(child), child});
      }
    }
  }
  return collected;
}

void Interpreter::unpack(Arguments& into, Object* value, bool by_name, Node node) {
  value = consume(value, node);
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

// One of several functions, some of them of the files, depending on the path: those that nothing ran yet run too, each
// under a condition that excludes the others.
Object* Interpreter::call_one_of(const Object& callee, Arguments& given, Node node) {
  constexpr std::size_t kMaxFunctions = 3;
  std::vector<Object*> functions;
  bool of_the_files = false;
  for (const Object* some : alternatives(&callee)) {
    if (some->type == Type::kExternal && functions.size() < kMaxFunctions)
      functions.push_back(const_cast<Object*>(some));
    const bool known = some->function != nullptr && (some->type == Type::kFunction || some->type == Type::kMethod);
    const bool fresh = known && (functions.empty() || !executed_.contains(some->function));
    of_the_files |= fresh;
    if (fresh && functions.size() < kMaxFunctions) functions.push_back(const_cast<Object*>(some));
  }
  if (functions.size() < 2 || !of_the_files) return nullptr;
  const Keep keep(guard_);
  const std::array<Node, kMaxFunctions> tests = {node, node.child("function"), node.child("arguments")};
  Object* result = nullptr;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Guard* const others = guard_;
    Object* chosen = unknown(node, static_cast<Taints>(callee.taints & (kRank | kLocal)));
    guard_ = add_guard(GuardKind::kIf, tests[i], node, true, chosen);
    result = join(call_object(functions[i], given, node), result, 0);
    guard_ = others;
    guard_ = add_guard(GuardKind::kIf, tests[i], node, false, chosen);
  }
  return result;
}

Object* Interpreter::call_object(Object* callee, Arguments& given, Node node) {
  Object* main = main_of(callee);
  if (callee->type == Type::kUnion) {
    if (Object* result = call_one_of(*callee, given, node)) return result;
  }
  const Keep keep(context_);
  if (main->function != nullptr && main->parent != nullptr) enter(*main->parent, node);  // torch.no_grad()(function)
  switch (main->type) {
    case Type::kFunction:
      if (main->function == nullptr) return unknown(node, taints_of(given));
      return call_function(main, given, node);
    case Type::kMethod:
      if (main->function != nullptr) return call_method(main, given, node);
      return call_foreign_method(*this, main->receiver, main->name, given, node);
    case Type::kClass:
      return call_class(*main->of_class, given, node);
    case Type::kExternal:
      return call_library(*this, main->name, given, node);
    case Type::kPartial: {
      Arguments& all = arguments_of();
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
  if (Object* around = managed(*this, main, given, node)) return around;
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
  Arguments& rest = arguments_of();
  rest.list.assign(given.list.begin() + 1, given.list.end());
  return invoke(function, main_of(given.list.front().value), called->scope, rest, node);
}

// A method of a class of the files. That of a model is an event of its own: hooks of wrappers see only __call__.
Object* Interpreter::call_method(Object* method, Arguments& given, Node node) {
  Object* self = method->receiver;
  if (self != nullptr && self->type == Type::kModel && frame_->self != self) {
    const bool fills = contains(method->name, "init") || method->name == "reset_parameters";
    emit(fills ? EventKind::kInitWeights : EventKind::kForwardMethod, method_name(method->name), node, &given, self,
         self, nullptr);
  }
  return invoke(*method->function, self, method->scope, given, node);
}

// Makes an unknown object an instance of a class of the files, with the attributes its constructor would set.
void Interpreter::adopt(Object* object, const Class& known, Node node) {
  object->of_class = &known;
  object->type = known.is_module                                 ? Type::kModel
                 : known.is_dataset || known.is_iterable_dataset ? Type::kDataset
                                                                 : Type::kInstance;
  if (known.is_module && object->callee.empty()) object->callee = known.name;
  // A constructor may take one of its own class, or of one that takes this.
  constexpr std::size_t kMaxAdopting = 6;
  if (adopting_.size() >= kMaxAdopting || std::ranges::find(adopting_, &known) != adopting_.end()) return;
  adopting_.push_back(&known);
  construct(object, known, unknown_arguments(), node);
  adopting_.pop_back();
}

// What making an instance runs: the constructor; of a dataclass, its fields in order and what follows them.
void Interpreter::construct(Object* object, const Class& owner, Arguments& given, Node node) {
  if (const Function* init = owner.method("__init__")) {
    invoke(*init, object, modules_[init->file], given, node);
    return;
  }
  int position = 0;
  fill_fields(object, owner, given, position);
  object->taints |= taints_of(given);
  if (const Function* after = owner.method("__post_init__"))
    invoke(*after, object, modules_[after->file], arguments_of(), node);
}

// The annotated attributes of a dataclass or a NamedTuple, those of its bases first.
void Interpreter::fill_fields(Object* object, const Class& owner, const Arguments& given, int& position) {
  if (std::ranges::find(fields_of_, &owner) != fields_of_.end()) return;  // a field of its own type
  fields_of_.push_back(&owner);
  for (const Class* base : owner.base_classes) fill_fields(object, *base, given, position);
  for (const Node child : owner.node.child("body").children()) {
    const Node field = child.first_child();
    if (!child.is("expression_statement") || !field.is("assignment") || !field.child("type")) continue;
    const std::string_view name = field.child("left").text();
    Object* value = nullptr;
    if (const Argument* found = given.find(name, position++)) {
      value = found->value;
    } else if (!field.child("right") && object->member(name) == nullptr) {
      value = unknown(field);
      value->name = name;
      value = typed(value, field.child("type"), *owner.file);
    }
    if (value != nullptr) object->members.emplace_back(name, value);
  }
  fields_of_.pop_back();
}

Object* Interpreter::call_class(const Class& owner, Arguments& given, Node node) {
  Object* object = make(owner.is_module ? Type::kModel : Type::kInstance, node);
  object->of_class = &owner;
  object->callee = owner.name;
  object->made_by = &given;
  if (owner.is_iterable_dataset || owner.is_dataset) object->type = Type::kDataset;
  emit(EventKind::kCall, owner.name, node, &given, object, nullptr, object);
  construct(object, owner, given, node);
  return object;
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
  Object* given_back = invoke(*function, core, modules_[function->file], given, node);
  Object* inner = main_of(given_back);
  if (inner->type == Type::kUnknown) {
    result->taints |= static_cast<Taints>(inner->taints & ~kRank);
    result->items = {given_back};  // what it is made from, on any path
  } else if (inner->type == Type::kSequence || inner->type == Type::kDict) {
    return inner;
  }
  return result;
}

}  // namespace fx::knowledge::code
