#include "engine/kernels/head_loss.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "engine/kernels/composed.h"
#include "engine/kernels/dispatch.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/rows.h"

namespace fx::engine {
namespace {

constexpr std::int64_t kPanel = 4096;  // classes whose head rows are widened at once, where products need it

// Tokens whose logits exist at once: about 96 MiB of them.
std::int64_t chunk_of(const at::Tensor& head, at::ScalarType wide) {
  const auto row_bytes = static_cast<std::int64_t>(c10::elementSize(wide)) * head.size(0);
  return std::clamp<std::int64_t>((std::int64_t{96} << 20) / row_bytes, 16, 512);
}

// Calls body(first class, classes) for panels of the head's rows: all at once when no widening is needed.
template <class Body>
void for_panels(const at::Tensor& head, at::ScalarType wide, const Body& body) {
  const std::int64_t classes = head.size(0), panel = head.scalar_type() == wide ? classes : kPanel;
  for (std::int64_t first = 0; first < classes; first += panel) body(first, std::min(panel, classes - first));
}

// rows [n, hidden] in the dtype of products -> logits [n, classes] in it.
at::Tensor logits_of(const at::Tensor& rows, const at::Tensor& head) {
  const at::ScalarType wide = rows.scalar_type();
  at::Tensor logits = at::empty({rows.size(0), head.size(0)}, rows.options());
  for_panels(head, wide, [&](std::int64_t first, std::int64_t count) {
    at::Tensor part = logits.narrow(1, first, count);
    at::mm_out(part, rows, widen_for_products(head.narrow(0, first, count)).t());
  });
  return logits;
}

// Losses of a chunk; logits become scale * dloss/dlogits. Fixed blocks of rows, added in order: the same sum for any
// threads.
double cross_entropy_rows(at::Tensor& logits, const at::Tensor& targets, float scale, bool with_gradient) {
  if (logits.is_cuda()) return composed::cross_entropy(logits, targets.to(logits.device()), scale, with_gradient);
  const auto* labels = targets.const_data_ptr<std::int64_t>();
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

// The gradient of the rows, in hidden's dtype; of a trained head, adds its own to head_grad, which is made when
// undefined.
at::Tensor head_backward(const at::Tensor& dlogits, const at::Tensor& rows, const at::Tensor& head, bool trained,
                         at::Tensor& head_grad) {
  const bool first_chunk = !head_grad.defined();
  if (trained && first_chunk) head_grad = at::empty_like(head);
  at::Tensor drows = at::zeros_like(rows);
  for_panels(head, rows.scalar_type(), [&](std::int64_t first, std::int64_t count) {
    const at::Tensor dpart = dlogits.narrow(1, first, count);
    drows.addmm_(dpart, widen_for_products(head.narrow(0, first, count)));
    if (!trained) return;
    at::Tensor grad = head_grad.narrow(0, first, count);
    const at::Tensor more = at::mm(dpart.t(), rows);
    if (first_chunk) {
      grad.copy_(more);
    } else {
      grad.add_(more);
    }
  });
  return drows.to(head.scalar_type());
}

at::Tensor rows_at(const at::Tensor& x, const at::Tensor& index) {
  // LibTorch's selection does not know the meta device.
  return x.is_meta() ? at::empty({index.numel(), x.size(1)}, x.options()) : at::index_select(x, 0, index);
}

// Loss and gradients of hidden [T, hidden] under the head, of tokens with a label only: the others cost nothing.
struct HeadGradients {
  double loss_sum = 0;
  at::Tensor hidden, head;  // undefined without labels or when no gradient was asked for
};
HeadGradients labelled_rows(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& labels, float scale,
                            bool with_gradient, bool trained) {
  HeadGradients out;
  const at::Tensor labelled = at::nonzero(labels.ge(0)).view({-1});
  const at::Tensor targets = at::index_select(labels, 0, labelled);
  if (with_gradient) out.hidden = at::zeros_like(hidden);
  const at::ScalarType wide = product_dtype(hidden);
  const std::int64_t count = labelled.numel(), chunk = chunk_of(head, wide);
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    const at::Tensor index = labelled.narrow(0, begin, std::min(chunk, count - begin)).to(hidden.device());
    const at::Tensor rows = rows_at(hidden, index).to(wide);
    at::Tensor logits = logits_of(rows, head);
    out.loss_sum += cross_entropy_rows(logits, targets.narrow(0, begin, index.numel()), scale, with_gradient);
    if (with_gradient) out.hidden.index_copy_(0, index, head_backward(logits, rows, head, trained, out.head));
  }
  return out;
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
  HeadGradients gradients;
  {
    const at::NoGradGuard guard;
    gradients = labelled_rows(hidden.detach(), head.detach(), labels, scale, with_gradient, head.requires_grad());
  }
  HeadResult result{gradients.loss_sum, {}};
  if (!with_gradient) return result;
  if (gradients.head.defined()) add_grad(head, gradients.head);
  hidden.backward(gradients.hidden);
  result.grad_input = input.grad();
  return result;
}

}  // namespace fx::engine
