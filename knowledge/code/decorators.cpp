// Decorators: those of the files are called, those from outside are known by what they do.
#include <algorithm>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

// Decorators that put a context around every call.
bool is_context(std::string_view decorator) {
  return decorator == "torch.no_grad" || decorator == "torch.inference_mode" || decorator == "torch.set_grad_enabled" ||
         decorator == "torch.amp.autocast" || decorator == "torch.cuda.amp.autocast";
}

// Run the function on one rank only: rank_zero_only of several libraries, accelerator.on_main_process.
bool is_for_one_rank(std::string_view decorator) {
  const std::string_view name = last_part(decorator);
  if (name.starts_with("on_main") || name.starts_with("on_local_main") || name.starts_with("on_last_process"))
    return true;
  if (name == "main_process" || name == "master_process" || name == "rank_zero" || name == "rank0") return true;
  const bool only = contains(name, "only");
  return only && (contains(name, "rank") || contains(name, "main") || contains(name, "master"));
}

}  // namespace

// The decorator is a function or class of the files.
bool Interpreter::of_the_files(Node decorator) const {
  const Node name = decorator.is("call") ? decorator.child("function") : decorator;
  if (!name.is("identifier")) return false;
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (const Object* found = scope->find(name.text()))
      return found->type == Type::kFunction && found->function != nullptr;
  }
  return false;
}

// What the name of a function stands for once its decorators have run, innermost first.
Object* Interpreter::decorated(Object* function) {
  Object* value = function;
  const auto& nodes = function->function->decorator_nodes;
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    if (!of_the_files(*at)) continue;
    Arguments& given = arguments_of();
    given.list.push_back({"", value, *at});
    Object* made = call_object(eval(*at), given, *at);
    if (main_of(made)->type == Type::kFunction || main_of(made)->type == Type::kPartial) value = made;
  }
  return value;
}

// @register("name"): what the files' decorators do with a class; the name keeps standing for the class.
void Interpreter::decorate_class(Object* object, Node definition) {
  for (const Node child : definition.children()) {
    const Node decorator = child.is("decorator") ? child.first_child() : Node();
    if (!decorator || !of_the_files(decorator)) continue;
    Arguments& given = arguments_of();
    given.list.push_back({"", object, decorator});
    call_object(eval(decorator), given, decorator);
  }
}

const Context* Interpreter::decorator_contexts(const Function& function, const Context* outer) {
  for (const std::string_view decorator : function.decorators) {
    if (!is_context(decorator)) continue;
    Context& context = program_.contexts_.emplace_back();
    context.outer = outer;
    context.callee = decorator;
    context.node = function.node;
    context.file = function.file;
    if (decorator == "torch.set_grad_enabled") context.callee = "torch.no_grad";
    outer = &context;
  }
  return outer;
}

// Of a function that a decorator from outside runs on one rank.
const Guard* Interpreter::decorator_guard(const Function& function) {
  for (std::size_t i = 0; i < function.decorators.size(); ++i) {
    if (!is_for_one_rank(function.decorators[i])) continue;
    if (std::ranges::any_of(program_.functions_, [&](const Function& known) {
          return known.name == last_part(function.decorators[i]) && known.of_class == nullptr;
        }))
      continue;  // its own body tells
    Object* rank = make(Type::kBool, function.decorator_nodes[i]);
    rank->taints = kRank;
    return add_guard(GuardKind::kIf, function.decorator_nodes[i], function.node.parent(), true, rank);
  }
  return guard_;
}

}  // namespace fx::knowledge::code
