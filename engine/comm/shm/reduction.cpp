#include "engine/comm/shm/reduction.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>

#include <algorithm>
#include <type_traits>

#include "engine/comm/shm/stream_copy.h"
#include "engine/kernels/rows.h"

namespace fx::engine::shm {
namespace {

// In pieces that stay in the first cache.
template <class T>
void sum_pair(void* out, const void* a, const void* b, std::size_t count, float scale, bool past_caches) {
  constexpr std::size_t kPiece = 1024;
  const RowKernels<T>& kernels = row_kernels<T>();
  alignas(64) T result[kPiece];
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t piece = std::min(kPiece, count - at);
    const auto n = static_cast<std::int64_t>(piece);
    T* target = static_cast<T*>(out) + at;
    kernels.sum_pair(past_caches ? result : target, static_cast<const T*>(a) + at, static_cast<const T*>(b) + at, n,
                     scale);
    if (past_caches) stream_copy(target, result, piece * sizeof(T));
  }
}

}  // namespace

BlockReducer::BlockReducer(c10::ScalarType dtype, Reduction reduction, int sources)
    : dtype_(dtype), reduction_(reduction), sources_(sources) {}

void BlockReducer::add(void* out, const void* source, std::size_t count, int index) {
  if (!sums()) return combine(out, source, count, index);
  if (dtype_ == at::kFloat) return sum<float>(out, source, count, index);
  sum<c10::BFloat16>(out, source, count, index);
}

bool BlockReducer::sums() const {
  return (reduction_ == Reduction::kSum || reduction_ == Reduction::kAverage) &&
         (dtype_ == at::kFloat || dtype_ == at::kBFloat16);
}

bool BlockReducer::has_pair() const {
  return sources_ == 2 && sums();
}

void BlockReducer::pair(void* out, const void* a, const void* b, std::size_t count, bool past_caches) const {
  const float scale = reduction_ == Reduction::kAverage ? 0.5f : 1.0f;
  if (dtype_ == at::kFloat) return sum_pair<float>(out, a, b, count, scale, past_caches);
  sum_pair<c10::BFloat16>(out, a, b, count, scale, past_caches);
}

template <class T>
void BlockReducer::sum(void* out, const void* source, std::size_t count, int index) {
  const auto n = static_cast<std::int64_t>(count);
  const RowKernels<T>& kernels = row_kernels<T>();
  float* total;
  if constexpr (std::is_same_v<T, float>) {
    total = static_cast<float*>(out);
  } else {
    if (sum_.size() < count) sum_.resize(count);
    total = sum_.data();
  }
  if (index > 0) {
    kernels.accumulate(total, static_cast<const T*>(source), n);
  } else if (static_cast<const void*>(total) != source) {
    kernels.widen(total, static_cast<const T*>(source), n);
  }
  if (index + 1 < sources_) return;
  const bool average = reduction_ == Reduction::kAverage;
  if (average || !std::is_same_v<T, float>) {
    kernels.narrow(static_cast<T*>(out), total, n, average ? 1.0f / static_cast<float>(sources_) : 1.0f);
  }
}

// The dtypes and reductions that training does not use on large tensors.
void BlockReducer::combine(void* out, const void* source, std::size_t count, int index) {
  const auto n = static_cast<std::int64_t>(count);
  at::Tensor result = at::from_blob(out, {n}, dtype_);
  const at::Tensor next = at::from_blob(const_cast<void*>(source), {n}, dtype_);
  const bool half = dtype_ == at::kHalf;
  if (half && sum_.size() < count) sum_.resize(count);
  at::Tensor total = half ? at::from_blob(sum_.data(), {n}, at::kFloat) : result;
  if (index == 0) {
    if (total.const_data_ptr() != source) total.copy_(next);
  } else if (reduction_ == Reduction::kMin) {
    total.copy_(at::minimum(total, next));
  } else if (reduction_ == Reduction::kMax) {
    total.copy_(at::maximum(total, next));
  } else {
    total.add_(next);
  }
  if (index + 1 < sources_) return;
  if (reduction_ == Reduction::kAverage) {
    if (at::isIntegralType(dtype_, true)) {
      total.div_(sources_, "trunc");
    } else {
      total.div_(sources_);
    }
  }
  if (half) result.copy_(total);
}

}  // namespace fx::engine::shm
