// Owns many small things at fixed addresses, a block of them at a time. Internal to knowledge/code.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace fx::knowledge::code {

template <class T>
class Pool {
 public:
  template <class... Arguments>
  T& emplace_back(Arguments&&... given) {
    if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back().reserve(kBlock);
    return blocks_.back().emplace_back(std::forward<Arguments>(given)...);
  }

 private:
  static constexpr std::size_t kBlock = 128;
  std::vector<std::vector<T>> blocks_;  // a block never grows beyond what was reserved
};

}  // namespace fx::knowledge::code
