// The names of a module, class body or running function.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

struct Scope {
  Scope* outer = nullptr;  // the enclosing function's, in the end the module's
  const SourceFile* file = nullptr;
  const Function* function = nullptr;  // nullptr: module or class level
  std::vector<std::pair<std::string_view, Object*>> names;

  Object* find(std::string_view name) const;
  void set(std::string_view name, Object* value);
  void restore(std::vector<std::pair<std::string_view, Object*>> before);

 private:
  std::size_t place_of(std::string_view name) const;                  // names.size(): absent
  mutable std::unordered_map<std::string_view, std::size_t> places_;  // of a scope with many names
};

}  // namespace fx::knowledge::code
