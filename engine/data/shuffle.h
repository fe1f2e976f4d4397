// A shuffle that gives the same order on every machine and standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fx::engine {

// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state, passes BigCrush, enough to order data.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed, std::uint64_t stream = 0) : state_(seed + 0x9E3779B97F4A7C15u * (stream + 1)) {
    state_ = next();
  }
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Below bound, without modulo bias; bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % bound;
    std::uint64_t value = next();
    while (value >= limit) value = next();
    return value % bound;
  }

 private:
  std::uint64_t state_;
};

template <class T>
void shuffle(std::vector<T>& values, SplitMix& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

}  // namespace fx::engine
