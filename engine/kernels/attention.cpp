#include <ATen/ops/bmm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "engine/kernels/composed.h"
#include "engine/kernels/dispatch.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/rows.h"

namespace fx::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::int64_t kQueryBlock = 256;  // query positions whose scores exist at once

struct Heads {
  std::int64_t query = 0, kv = 0, dim = 0;
  std::int64_t window = 0;  // 0: none
  std::int64_t group() const { return query / kv; }
  // First key that a query from position `first` on can see.
  std::int64_t first_key(std::int64_t first) const {
    return window > 0 ? std::max<std::int64_t>(0, first - window + 1) : 0;
  }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(dim)); }
};

// Rows [begin, end) of q [T, heads * dim] as [kv, positions * group, dim]: the query heads that share a KV head lie
// together. In the dtype of products, like everything between the products.
at::Tensor pack_queries(const at::Tensor& q, std::int64_t begin, std::int64_t end, const Heads& h) {
  const at::Tensor packed = q.narrow(0, begin, end - begin)
                                .view({end - begin, h.kv, h.group(), h.dim})
                                .permute({1, 0, 2, 3})
                                .reshape({h.kv, (end - begin) * h.group(), h.dim});
  return widen_for_products(packed);
}
void unpack_queries(const at::Tensor& packed, at::Tensor& out, std::int64_t begin, std::int64_t end, const Heads& h) {
  out.narrow(0, begin, end - begin)
      .view({end - begin, h.kv, h.group(), h.dim})
      .copy_(packed.view({h.kv, end - begin, h.group(), h.dim}).permute({1, 0, 2, 3}));
}
at::Tensor pack_keys(const at::Tensor& k, std::int64_t begin, std::int64_t end, const Heads& h) {
  return widen_for_products(
      k.narrow(0, begin, end - begin).view({end - begin, h.kv, h.dim}).permute({1, 0, 2}).contiguous());
}

// The keys (or values, or their gradients) that query positions [first, last) of a document see.
at::Tensor keys_of(const at::Tensor& packed, std::int64_t first, std::int64_t last, const Heads& h) {
  return packed.narrow(1, h.first_key(first), last - h.first_key(first));
}

// Hides from each row the keys that lie before its window: its softmax gives them nothing.
template <class T>
void hide_before_window(T* scores, std::int64_t rows, std::int64_t width, std::int64_t row, std::int64_t first,
                        const Heads& h) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t hidden = h.first_key(first + (row + r) / h.group()) - h.first_key(first);
    std::fill(scores + r * width, scores + r * width + hidden, static_cast<T>(-1e30f));
  }
}

// Probabilities of query positions [first, last) of a document over the keys that they see, [first_key, last):
// [kv, positions * group, keys].
at::Tensor probabilities(const at::Tensor& queries, const at::Tensor& keys, std::int64_t first, std::int64_t last,
                         const Heads& h) {
  at::Tensor scores = at::bmm(queries.narrow(1, first * h.group(), (last - first) * h.group()),
                              keys_of(keys, first, last, h).transpose(1, 2));
  const std::int64_t rows = scores.size(1), width = scores.size(2);
  for_dtype(scores, [&](auto tag) {
    using T = decltype(tag);
    T* data = scores.mutable_data_ptr<T>();
    for_rows(h.kv * rows, width, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {  // pieces that stay inside one KV head
        const std::int64_t row = begin % rows, count = std::min(end - begin, rows - row);
        if (h.window > 0) hide_before_window(data + begin * width, count, width, row, first, h);
        row_kernels<T>().causal_softmax(data + begin * width, count, width, row, h.group(),
                                        first + 1 - h.first_key(first), h.scale());
        begin += count;
      }
    });
  });
  return scores;
}

void softmax_backward(const at::Tensor& p, at::Tensor& dp, const Heads& h) {
  const std::int64_t width = p.size(2);
  for_dtype(p, [&](auto tag) {
    using T = decltype(tag);
    for_rows(p.size(0) * p.size(1), width, [&](std::int64_t begin, std::int64_t end) {
      row_kernels<T>().softmax_backward(p.const_data_ptr<T>() + begin * width, dp.mutable_data_ptr<T>() + begin * width,
                                        end - begin, width, h.scale());
    });
  });
}

class DocumentAttention : public Function<DocumentAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<std::int64_t>& starts, std::int64_t heads, std::int64_t kv_heads,
                            std::int64_t window) {
    const Heads h{heads, kv_heads, q.size(1) / heads, window};
    at::Tensor out = at::empty_like(q);
    for (std::size_t d = 0; d + 1 < starts.size(); ++d) forward_document(q, k, v, out, starts[d], starts[d + 1], h);
    ctx->save_for_backward({q, k, v});
    ctx->saved_data["starts"] = starts;
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["kv_heads"] = kv_heads;
    ctx->saved_data["window"] = window;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const std::int64_t heads = ctx->saved_data["heads"].toInt();
    const Heads h{heads, ctx->saved_data["kv_heads"].toInt(), saved[0].size(1) / heads,
                  ctx->saved_data["window"].toInt()};
    const auto starts = ctx->saved_data["starts"].toIntVector();
    const at::Tensor dout = grads[0].contiguous();
    at::Tensor dq = at::empty_like(saved[0]), dk = at::empty_like(saved[1]), dv = at::empty_like(saved[2]);
    for (std::size_t d = 0; d + 1 < starts.size(); ++d) {
      backward_document(saved, dout, dq, dk, dv, starts[d], starts[d + 1], h);
    }
    return {dq, dk, dv, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  static void forward_document(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, at::Tensor& out,
                               std::int64_t begin, std::int64_t end, const Heads& h) {
    const at::Tensor queries = pack_queries(q, begin, end, h);
    const at::Tensor keys = pack_keys(k, begin, end, h), values = pack_keys(v, begin, end, h);
    for (std::int64_t first = 0; first < end - begin; first += kQueryBlock) {
      const std::int64_t last = std::min(first + kQueryBlock, end - begin);
      const at::Tensor p = probabilities(queries, keys, first, last, h);
      unpack_queries(at::bmm(p, keys_of(values, first, last, h)), out, begin + first, begin + last, h);
    }
  }

  static void backward_document(const variable_list& saved, const at::Tensor& dout, at::Tensor& dq, at::Tensor& dk,
                                at::Tensor& dv, std::int64_t begin, std::int64_t end, const Heads& h) {
    const at::Tensor queries = pack_queries(saved[0], begin, end, h), douts = pack_queries(dout, begin, end, h);
    const at::Tensor keys = pack_keys(saved[1], begin, end, h), values = pack_keys(saved[2], begin, end, h);
    at::Tensor dkeys = at::zeros_like(keys), dvalues = at::zeros_like(values);
    for (std::int64_t first = 0; first < end - begin; first += kQueryBlock) {
      const std::int64_t last = std::min(first + kQueryBlock, end - begin);
      const std::int64_t row = first * h.group(), rows = (last - first) * h.group();
      const at::Tensor p = probabilities(queries, keys, first, last, h);
      const at::Tensor dblock = douts.narrow(1, row, rows);
      at::Tensor dp = at::bmm(dblock, keys_of(values, first, last, h).transpose(1, 2));
      keys_of(dvalues, first, last, h).add_(at::bmm(p.transpose(1, 2), dblock));
      softmax_backward(p, dp, h);
      keys_of(dkeys, first, last, h).add_(at::bmm(dp.transpose(1, 2), queries.narrow(1, row, rows)));
      unpack_queries(at::bmm(dp, keys_of(keys, first, last, h)), dq, begin + first, begin + last, h);
    }
    dk.narrow(0, begin, end - begin).view({end - begin, h.kv, h.dim}).copy_(dkeys.permute({1, 0, 2}));
    dv.narrow(0, begin, end - begin).view({end - begin, h.kv, h.dim}).copy_(dvalues.permute({1, 0, 2}));
  }
};

}  // namespace

at::Tensor document_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::vector<std::int64_t>& starts, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t window) {
  if (q.is_cuda()) return composed::document_attention(q, k, v, starts, heads, kv_heads, window);
  return DocumentAttention::apply(q, k, v, starts, heads, kv_heads, window);
}

}  // namespace fx::engine
