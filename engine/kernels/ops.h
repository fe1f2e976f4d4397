// Differentiable building blocks of decoder models: fused on the CPU, composed.h on CUDA. Floating tensors are fp32 or
// bf16, contiguous, all of one dtype; T tokens of all documents of a micro-batch lie one behind the other.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fx::engine {

// x [T, h], weight [h] -> [T, h] in x's dtype; a weight of another dtype is computed in, and x cast to it.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

// silu(gate) * up; both [T, n].
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

// x [T, heads * dim]; cosine, sine fp32 [T, dim / 2]: rotates the halves of each head (the Hugging Face layout).
at::Tensor rope(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine, std::int64_t heads);

// Causal attention inside each document. q [T, heads * dim], k and v [T, kv_heads * dim]; document d is rows
// [starts[d], starts[d + 1]). Returns [T, heads * dim]. Scores of a block of queries are made, used and made again in
// the backward: memory grows with T, not with T^2; K and V are never expanded to all heads. window > 0: a position sees
// only itself and the window - 1 positions before it.
at::Tensor document_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::vector<std::int64_t>& starts, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t window = 0);

}  // namespace fx::engine
