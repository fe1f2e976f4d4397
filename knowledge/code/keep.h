// Restores a member when the block is left. Internal to knowledge/code.
#pragma once

namespace fx::knowledge::code {

// Puts a member back when the block is left.
template <class T>
class Keep {
 public:
  explicit Keep(T& place) : place_(place), value_(place) {}
  ~Keep() { place_ = value_; }
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;

 private:
  T& place_;
  T value_;
};

}  // namespace fx::knowledge::code
