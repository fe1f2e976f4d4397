// The building blocks of ops.h as chains of LibTorch's own operations, differentiable, for devices that have no row
// kernels. Same shapes and meaning; any floating dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fx::engine::composed {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor rope(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine, std::int64_t heads);
// Scaled dot-product attention of each document by itself; with a window through a mask.
at::Tensor document_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::vector<std::int64_t>& starts, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t window);
// In place over logits [rows, classes], labels [rows] none negative: they become (softmax - onehot) * scale, if wanted.
// Returns the sum of the rows' losses. Waits for the device.
double cross_entropy(at::Tensor& logits, const at::Tensor& labels, float scale, bool with_gradient);

}  // namespace fx::engine::composed
