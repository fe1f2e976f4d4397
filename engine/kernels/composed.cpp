#include "engine/kernels/composed.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>

#include <optional>

namespace fx::engine::composed {
namespace {

// Rows [begin, end) of x [T, heads * dim] as [1, heads, positions, dim].
at::Tensor heads_of(const at::Tensor& x, std::int64_t begin, std::int64_t end, std::int64_t heads) {
  return x.narrow(0, begin, end - begin).view({1, end - begin, heads, x.size(1) / heads}).transpose(1, 2);
}

// True where a query (row) may see a key (column).
at::Tensor window_mask(std::int64_t length, std::int64_t window, at::Device device) {
  const at::Tensor position = at::arange(length, at::TensorOptions().dtype(at::kLong).device(device));
  const at::Tensor distance = position.unsqueeze(1).sub(position.unsqueeze(0));
  return distance.ge(0).logical_and(distance.lt(window));
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return at::rms_norm(x, {x.size(1)}, weight, eps);
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return at::silu(gate).mul(up);
}

at::Tensor rope(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine, std::int64_t heads) {
  const std::int64_t tokens = x.size(0), half = x.size(1) / heads / 2;
  const at::Tensor halves = x.view({tokens, heads, 2, half}).to(at::kFloat);
  const at::Tensor a = halves.select(2, 0), b = halves.select(2, 1);
  const at::Tensor c = cosine.unsqueeze(1), s = sine.unsqueeze(1);
  return at::cat({a.mul(c).sub(b.mul(s)), b.mul(c).add(a.mul(s))}, 2).view({tokens, -1}).to(x.scalar_type());
}

at::Tensor document_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::vector<std::int64_t>& starts, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t window) {
  std::vector<at::Tensor> parts;
  for (std::size_t d = 0; d + 1 < starts.size(); ++d) {
    const std::int64_t begin = starts[d], end = starts[d + 1], length = end - begin;
    std::optional<at::Tensor> mask;
    if (window > 0 && window < length) mask = window_mask(length, window, q.device());
    const at::Tensor out = at::scaled_dot_product_attention(
        heads_of(q, begin, end, heads), heads_of(k, begin, end, kv_heads), heads_of(v, begin, end, kv_heads), mask, 0.0,
        !mask.has_value(), std::nullopt, heads != kv_heads);
    parts.push_back(out.transpose(1, 2).reshape({length, q.size(1)}));
  }
  return at::cat(parts, 0);
}

double cross_entropy(at::Tensor& logits, const at::Tensor& labels, float scale, bool with_gradient) {
  const at::Tensor wide = logits.to(at::kFloat), column = labels.unsqueeze(1);
  const at::Tensor losses = at::logsumexp(wide, {1}).sub(at::gather(wide, 1, column).squeeze(1));
  const double loss = losses.sum(at::kDouble).item<double>();
  if (!with_gradient) return loss;
  at::Tensor gradient = at::softmax(wide, 1);
  gradient.scatter_add_(1, column, at::full_like(column, -1, gradient.options()));
  logits.copy_(gradient.mul_(scale));
  return loss;
}

}  // namespace fx::engine::composed
