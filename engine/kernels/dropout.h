// Dropout whose random numbers depend on seed, step, token and adapter alone: a step drops the same on any number of
// ranks, in any micro-batch, and again when a block is recomputed. Nothing is kept for the backward.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fx::engine {

struct Dropout {
  double p = 0;              // in [0, 1); 0: nothing is dropped
  at::Tensor rows;           // int64 [T] on the CPU: what the random numbers of a row depend on
  std::uint64_t stream = 0;  // tells those of one adapter from those of others
};

// x [T, n], fp32 or bf16: each element is 0 with probability p, else divided by 1 - p. Linear in x, so that its own
// backward is the same function of the gradient. Without rows and p: x itself.
at::Tensor drop(const at::Tensor& x, const Dropout& dropout);

// Dropout::rows of a micro-batch in a step. origins: what tells its tokens from all others of the data.
at::Tensor dropout_rows(const std::vector<std::uint64_t>& origins, std::uint64_t seed, std::uint64_t step);

}  // namespace fx::engine
