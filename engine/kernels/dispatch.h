// Runs a row kernel over a tensor's rows on this process's threads.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <stdexcept>

namespace fx::engine {

// Calls body(T{}) with T = float or BFloat16; not for a tensor on the meta device, which has no values.
template <class Body>
void for_dtype(const at::Tensor& tensor, const Body& body) {
  if (tensor.is_meta()) return;
  if (tensor.scalar_type() == at::kFloat) return body(float{});
  if (tensor.scalar_type() == at::kBFloat16) return body(c10::BFloat16{});
  throw std::invalid_argument("only fp32 and bf16 tensors are computed on");
}

// Splits rows over the threads; a piece has at least min_elements elements.
template <class Body>
void for_rows(std::int64_t rows, std::int64_t width, const Body& body) {
  constexpr std::int64_t kMinElements = 16384;
  at::parallel_for(0, rows, std::max<std::int64_t>(1, kMinElements / std::max<std::int64_t>(1, width)), body);
}

}  // namespace fx::engine
