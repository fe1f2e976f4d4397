#include "engine/kernels/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <stdexcept>

#include "engine/kernels/place_hash.h"

namespace fx::engine {
namespace {

// One hash for two elements.
template <class T>
void drop_row(const T* x, T* y, std::int64_t n, std::uint64_t key, std::uint32_t dropped_below, float scale) {
  const auto kept = [&](std::int64_t i, std::uint64_t bits) {
    const bool keep = static_cast<std::uint32_t>(bits) >= dropped_below;
    y[i] = static_cast<T>(keep ? static_cast<float>(x[i]) * scale : 0.0f);
  };
  for (std::int64_t i = 0; i < n; i += 2) {
    const std::uint64_t bits = mixed(key + static_cast<std::uint64_t>(i));
    kept(i, bits);
    if (i + 1 < n) kept(i + 1, bits >> 32);
  }
}

template <class T>
void drop_rows(const at::Tensor& x, const at::Tensor& y, const Dropout& dropout) {
  const std::int64_t n = x.size(1), rows = x.size(0);
  const T* from = x.const_data_ptr<T>();
  T* to = y.mutable_data_ptr<T>();
  const std::int64_t* keys = dropout.rows.const_data_ptr<std::int64_t>();
  const auto below = static_cast<std::uint32_t>(dropout.p * 0x1p32);
  const auto scale = static_cast<float>(1 / (1 - dropout.p));
  at::parallel_for(0, rows, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::uint64_t key = mixed(static_cast<std::uint64_t>(keys[row]) ^ dropout.stream);
      drop_row(from + row * n, to + row * n, n, key, below, scale);
    }
  });
}

}  // namespace

at::Tensor drop(const at::Tensor& x, const Dropout& dropout) {
  if (dropout.p == 0 || !dropout.rows.defined()) return x;
  if (x.is_meta()) return at::empty_like(x);
  if (dropout.rows.numel() != x.size(0)) throw std::logic_error("dropout: rows do not fit the tensor");
  const at::Tensor from = x.cpu().contiguous();  // elsewhere than on the CPU a detour, for the same numbers
  const at::Tensor to = at::empty_like(from);
  if (x.scalar_type() == at::kBFloat16) {
    drop_rows<c10::BFloat16>(from, to, dropout);
  } else {
    drop_rows<float>(from, to, dropout);
  }
  return to.to(x.device());
}

at::Tensor dropout_rows(const std::vector<std::uint64_t>& origins, std::uint64_t seed, std::uint64_t step) {
  at::Tensor rows = at::empty({static_cast<std::int64_t>(origins.size())}, at::kLong);
  std::int64_t* keys = rows.mutable_data_ptr<std::int64_t>();
  const std::uint64_t now = mixed(mixed(seed) ^ step);
  for (std::size_t i = 0; i < origins.size(); ++i) keys[i] = static_cast<std::int64_t>(mixed(now ^ mixed(origins[i])));
  return rows;
}

}  // namespace fx::engine
