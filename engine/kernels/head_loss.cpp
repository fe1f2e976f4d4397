#include "engine/kernels/head_loss.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

#include "engine/kernels/dispatch.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/rows.h"

namespace fx::engine {
namespace {

constexpr std::int64_t kChunk = 256;  // tokens whose logits exist at once

// Losses of a chunk; logits become scale * dloss/dlogits. Fixed blocks of rows, added in order: the same sum for any threads.
double cross_entropy_rows(at::Tensor& logits, const std::int64_t* labels, float scale, bool with_gradient) {
  const std::int64_t rows = logits.size(0), classes = logits.size(1), block = 16, blocks = (rows + block - 1) / block;
  std::vector<double> losses(static_cast<std::size_t>(blocks));
  for_dtype(logits, [&](auto tag) {
    using T = decltype(tag);
    T* data = logits.mutable_data_ptr<T>();
    at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t b = first; b < last; ++b) {
        const std::int64_t row = b * block, count = std::min(block, rows - row);
        losses[static_cast<std::size_t>(b)] =
            row_kernels<T>().cross_entropy(data + row * classes, labels + row, count, classes, scale, with_gradient);
      }
    });
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

void add_grad(const at::Tensor& param, const at::Tensor& grad) {
  if (!param.requires_grad()) return;
  at::Tensor& total = const_cast<at::Tensor&>(param).mutable_grad();
  if (total.defined()) {
    total.add_(grad);
  } else {
    total = grad;
  }
}

bool any_valid(const std::int64_t* labels, std::int64_t count) {
  return std::any_of(labels, labels + count, [](std::int64_t label) { return label >= 0; });
}

}  // namespace

HeadResult norm_head_loss(const at::Tensor& x, const at::Tensor& norm, double eps, const at::Tensor& head,
                          const at::Tensor& labels, float scale, bool with_gradient) {
  const at::Tensor input = x.detach().set_requires_grad(with_gradient);
  at::Tensor hidden;
  {
    const at::AutoGradMode mode(with_gradient);
    hidden = rms_norm(input, norm, eps);
  }
  HeadResult result;
  at::Tensor dhidden, dhead;
  const std::int64_t tokens = x.size(0);
  {
    const at::NoGradGuard guard;
    const at::Tensor flat = hidden.detach(), weight = head.detach();
    if (with_gradient) dhidden = at::zeros_like(flat);
    for (std::int64_t begin = 0; begin < tokens; begin += kChunk) {
      const std::int64_t count = std::min(kChunk, tokens - begin);
      const std::int64_t* chunk_labels = labels.const_data_ptr<std::int64_t>() + begin;
      if (!any_valid(chunk_labels, count)) continue;
      const at::Tensor rows = flat.narrow(0, begin, count);
      at::Tensor logits = at::mm(rows, weight.t());
      result.loss_sum += cross_entropy_rows(logits, chunk_labels, scale, with_gradient);
      if (!with_gradient) continue;
      dhidden.narrow(0, begin, count).copy_(at::mm(logits, weight));
      const at::Tensor part = at::mm(logits.t(), rows);
      if (dhead.defined()) {
        dhead.add_(part);
      } else {
        dhead = part;
      }
    }
  }
  if (!with_gradient) return result;
  if (dhead.defined()) add_grad(head, dhead);
  hidden.backward(dhidden);
  result.grad_input = input.grad();
  return result;
}

}  // namespace fx::engine
