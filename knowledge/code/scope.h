// The names of a module, class body or running function.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

class Scope {
 public:
  Scope* outer = nullptr;  // the enclosing function's, in the end the module's
  const SourceFile* file = nullptr;
  const Function* function = nullptr;  // nullptr: module or class level

  Object* find(std::string_view name) const;  // nullptr: not bound here
  void set(std::string_view name, Object* value);
  std::vector<std::pair<std::string_view, Object*>> bound() const;
  std::size_t size() const { return names_.size(); }

 private:
  friend class Changes;
  std::size_t place_of(std::string_view name) const;  // names_.size(): absent

  std::vector<std::pair<std::string_view, Object*>> names_;           // nullptr: not bound any more
  mutable std::unordered_map<std::string_view, std::size_t> places_;  // of a scope with many names
  std::vector<std::pair<std::size_t, Object*>> log_;                  // what stood there before, while someone asks
  int asked_ = 0;
};

// What is bound in a scope from here on, and the way back. The last one made is the first one left.
class Changes {
 public:
  struct Change {
    std::size_t place = 0;  // in the scope; changes are in this order
    std::string_view name;
    Object* before = nullptr;  // nullptr: was not bound
    Object* now = nullptr;
  };

  explicit Changes(Scope& scope);
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  std::vector<Change> all() const;
  std::vector<Change> undo();  // all(), put back as it was

 private:
  Scope& scope_;
  std::size_t from_;
};

}  // namespace fx::knowledge::code
