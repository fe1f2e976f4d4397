// The feed-forward part of a block as one operation.
#pragma once

#include <ATen/core/Tensor.h>

namespace fx::engine {

// (silu(x gate^T) * (x up^T)) down^T. x [T, hidden], gate and up [n, hidden], down [hidden, n] -> [T, hidden];
// differentiable, fp32 or bf16, on the CPU. Only x and both products are kept for the backward, which makes silu(gate)
// * up again; between the products everything stays in their dtype.
at::Tensor gated_mlp(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down);

}  // namespace fx::engine
