// Names that statements bind to functions, classes and modules.
#include <algorithm>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {

Flow Interpreter::define(Node node) {
  Node inner = node.is("decorated_definition") ? node.child("definition") : node;
  if (const auto found = file_->function_at.find(inner.index()); found != file_->function_at.end()) {
    Object* object = make(Type::kFunction, inner);
    object->function = found->second;
    object->scope = scope_;
    object->name = found->second->name;
    scope_->set(object->name, decorated(object));
    // @walk.register of a @singledispatch function: calls of walk may run this one.
    for (const std::string_view decorator : found->second->decorators) {
      if (!decorator.ends_with(".register")) continue;
      const std::string_view name = decorator.substr(0, decorator.size() - sizeof(".register") + 1);
      Object* first = scope_->find(name);
      const Function* base = first == nullptr ? nullptr : main_of(first)->function;
      if (base != nullptr && std::ranges::any_of(base->decorators, [](std::string_view of) {
            return ends_with_part(of, "singledispatch");
          }))
        scope_->set(name, join(first, object, 0));
    }
  }
  if (const auto found = file_->class_at.find(inner.index()); found != file_->class_at.end()) {
    Object* object = class_object(*found->second);
    scope_->set(found->second->name, object);
    if (node != inner) decorate_class(object, node);
  }
  return Flow::kNormal;
}

Flow Interpreter::import_statement(Node node) {
  for (const Import& import : file_->imports_of(node)) {
    if (import.name.find('.') != std::string_view::npos) continue;
    scope_->set(import.name, import_module(import.target));
  }
  return Flow::kNormal;
}

Flow Interpreter::import_from_statement(Node node) {
  for (const Import& import : file_->imports_of(node)) {
    Object* found = nullptr;
    const auto dot = import.target.rfind('.');
    if (dot != std::string_view::npos) {
      Object* from = import_module(import.target.substr(0, dot));
      if (from->file != nullptr) found = attribute(from, import.target.substr(dot + 1), node);
    }
    scope_->set(import.name, found != nullptr && found->type != Type::kUnknown ? found : import_module(import.target));
  }
  if (const Node all = node.child("module_name"); all && node.children("name").empty()) {
    for (const auto& file : program_.files_) {  // from x import *
      if (file->module != all.text()) continue;
      run_module(*file, false);
      for (const auto& [name, object] : modules_[file.get()]->bound()) scope_->set(name, object);
    }
  }
  return Flow::kNormal;
}

// A file of the request: its module object, executed on first import. Else something external.
Object* Interpreter::import_module(std::string_view name) {
  Object* module = external(name, {});
  for (const auto& file : program_.files_) {
    const bool same = file->module == name || (file->module.size() > name.size() && file->module.ends_with(name) &&
                                               file->module[file->module.size() - name.size() - 1] == '.');
    if (!same) continue;
    run_module(*file, false);
    module->file = file.get();
    break;
  }
  return module;
}

}  // namespace fx::knowledge::code
