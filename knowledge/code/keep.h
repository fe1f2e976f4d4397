// Puts members back when a block is left. Internal to knowledge/code.
#pragma once

#include <utility>

namespace fx::knowledge::code {

// Within the block the member may change; behind it, it is what it was.
template <class T>
class Keep {
 public:
  explicit Keep(T& place) : place_(place), value_(place) {}
  ~Keep() { place_ = std::move(value_); }
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;

 private:
  T& place_;
  T value_;
};

// The same, and within the block the member begins empty.
template <class T>
class Fresh {
 public:
  explicit Fresh(T& place) : place_(place), value_(std::exchange(place, T{})) {}
  ~Fresh() { place_ = std::move(value_); }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;

 private:
  T& place_;
  T value_;
};

}  // namespace fx::knowledge::code
