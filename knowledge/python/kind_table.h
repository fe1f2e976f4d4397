// A value for each kind of node, found without comparing names.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "knowledge/python/syntax.h"

namespace fx::knowledge::python {

template <class T>
class KindTable {
 public:
  // Kinds that are not named have T{}.
  KindTable(std::initializer_list<std::pair<std::string_view, T>> rows) : values_(kind_names().size()) {
    for (std::size_t number = 0; number < values_.size(); ++number) {
      for (const auto& [kind, value] : rows) {
        if (kind == kind_names()[number]) values_[number] = value;
      }
    }
  }
  const T& of(Node node) const { return values_[node.kind_number()]; }

 private:
  std::vector<T> values_;
};

}  // namespace fx::knowledge::python
