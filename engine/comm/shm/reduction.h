// Reduces blocks that lie in different ranks' memory, one source after the other.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <vector>

namespace fx::engine::shm {

enum class Reduction { kSum, kAverage, kMin, kMax };

// Sums of bf16 and fp16 are kept in fp32 until the last source. Any real dtype.
class BlockReducer {
 public:
  BlockReducer(c10::ScalarType dtype, Reduction reduction, int sources);
  // out, source: count elements; the sources of a block come in the order 0, 1, ..., sources - 1. Source may be out
  // itself for source 0 only.
  void add(void* out, const void* source, std::size_t count, int index);

  // Whether pair() can take the place of add(): two sources, summed in a dtype of training.
  bool has_pair() const;
  // The whole reduction of two sources in one pass, the same bits as add(). past_caches: see stream_copy.
  void pair(void* out, const void* a, const void* b, std::size_t count, bool past_caches) const;

 private:
  bool sums() const;
  template <class T>
  void sum(void* out, const void* source, std::size_t count, int index);
  void combine(void* out, const void* source, std::size_t count, int index);
  c10::ScalarType dtype_;
  Reduction reduction_;
  int sources_;
  std::vector<float> sum_;
};

}  // namespace fx::engine::shm
