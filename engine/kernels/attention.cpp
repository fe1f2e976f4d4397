#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
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

// Scores of one KV head that exist at once: rows (query heads that share it times positions), so that they stay in the
// second-level cache.
constexpr std::int64_t kScoreRows = 384;

// oneDNN, which does the bf16 products, makes and keeps a kernel for each shape: 0.6 ms and half a MiB. Documents are
// padded with zeros to a multiple of this, so that their lengths make few shapes.
constexpr std::int64_t kPaddedPositions = 32;

struct Heads {
  std::int64_t query = 0, kv = 0, dim = 0;
  std::int64_t window = 0;  // 0: none
  std::int64_t grain = 1;   // positions
  std::int64_t padded(std::int64_t length) const { return (length + grain - 1) / grain * grain; }
  std::int64_t group() const { return query / kv; }
  // First key that a query from position `first` on can see.
  std::int64_t first_key(std::int64_t first) const {
    return window > 0 ? std::max<std::int64_t>(0, first - window + 1) : 0;
  }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(dim)); }
};

Heads heads_of(const at::Tensor& q, std::int64_t query, std::int64_t kv, std::int64_t window) {
  return {query, kv, q.size(1) / query, window, product_dtype(q) == at::kFloat ? 1 : kPaddedPositions};
}

// Query positions [first, last) of a padded document under one KV head, and the keys [first_key, last) that they see.
struct Block {
  std::int64_t first = 0, last = 0, first_key = 0, group = 1;
  at::Tensor queries(const at::Tensor& packed) const { return packed.narrow(0, first * group, (last - first) * group); }
  at::Tensor keys(const at::Tensor& packed) const { return packed.narrow(0, first_key, last - first_key); }
};

// Calls body(KV head, block) for the blocks of a document of this length.
template <class Body>
void for_blocks(std::int64_t length, const Heads& h, const Body& body) {
  const std::int64_t step = std::max<std::int64_t>(1, kScoreRows / h.group());
  for (std::int64_t head = 0; head < h.kv; ++head) {
    for (std::int64_t first = 0; first < length; first += step) {
      body(head, Block{first, std::min(first + step, h.padded(length)), h.first_key(first), h.group()});
    }
  }
}

// [kv, positions, n] as that of the padded document, zeros behind it.
at::Tensor with_padding(const at::Tensor& rows, at::ScalarType dtype, const Heads& h) {
  const std::int64_t length = rows.size(1), padded = h.padded(length);
  at::Tensor out = at::empty({h.kv, padded, rows.size(2)}, rows.options().dtype(dtype));
  out.narrow(1, 0, length).copy_(rows);
  if (padded > length) out.narrow(1, length, padded - length).zero_();
  return out;
}

// Rows [begin, end) of x [T, heads * dim] in the dtype of products as [kv, padded positions * group, dim]: the query
// heads that share a KV head lie together.
at::Tensor pack(const at::Tensor& x, std::int64_t begin, std::int64_t end, const Heads& h) {
  const at::Tensor rows = x.narrow(0, begin, end - begin).view({end - begin, h.kv, -1}).permute({1, 0, 2});
  return with_padding(rows, product_dtype(x), h).view({h.kv, -1, h.dim});
}

// Writes a block's rows [positions * group, dim], without padding, to their places in x [positions, heads * dim] of its
// document.
void unpack(const at::Tensor& rows, at::Tensor x, std::int64_t head, const Block& block, const Heads& h) {
  const std::int64_t positions = std::min(block.last, x.size(0)) - block.first;
  x.narrow(0, block.first, positions)
      .view({positions, h.kv, -1})
      .select(1, head)
      .copy_(rows.view({-1, h.group() * h.dim}).narrow(0, 0, positions));
}

// total += a b, in fp32.
void add_product(at::Tensor total, const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() == at::kFloat) {
    total.addmm_(a, b);
  } else {
    total.add_(at::mm(a, b));
  }
}

// Hides from each row the keys that lie before its window: its softmax gives them nothing.
template <class T>
void hide_before_window(T* scores, const CausalRows& shape, const Block& block, const Heads& h) {
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const std::int64_t hidden = h.first_key(block.first + (shape.first_row + r) / h.group()) - block.first_key;
    std::fill(scores + r * shape.width, scores + r * shape.width + hidden, static_cast<T>(-1e30f));
  }
}

// Calls body(data, first row, shape) for pieces of a block's scores, windows hidden.
template <class Body>
void for_score_rows(const at::Tensor& scores, const Block& block, const Heads& h, const Body& body) {
  for_dtype(scores, [&](auto tag) {
    using T = decltype(tag);
    const std::int64_t width = scores.size(1);
    for_rows(scores.size(0), width, [&](std::int64_t begin, std::int64_t end) {
      T* data = scores.mutable_data_ptr<T>() + begin * width;
      const CausalRows shape{end - begin, width, begin, h.group(), block.first + 1 - block.first_key};
      if (h.window > 0) hide_before_window(data, shape, block, h);
      body(data, begin, shape);
    });
  });
}

// Sums over dim of a * b, both [T, heads * dim], of rows [begin, end): [kv, padded positions * group], fp32.
at::Tensor dots_of(const at::Tensor& a, const at::Tensor& b, std::int64_t begin, std::int64_t end, const Heads& h) {
  at::Tensor dots = at::empty({end - begin, h.query}, a.options().dtype(at::kFloat));
  for_dtype(a, [&](auto tag) {
    using T = decltype(tag);
    for_rows(dots.numel(), h.dim, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t at = begin * h.query + first;
      row_kernels<T>().row_dots(a.const_data_ptr<T>() + at * h.dim, b.const_data_ptr<T>() + at * h.dim,
                                dots.mutable_data_ptr<float>() + first, last - first, h.dim);
    });
  });
  return with_padding(dots.view({end - begin, h.kv, h.group()}).permute({1, 0, 2}), at::kFloat, h).view({h.kv, -1});
}

// The backward makes the probabilities again from the logarithms of their sums, and takes the sum of p * dp over a row
// from the output: it is the output's product with its gradient (FlashAttention-2, section 3.1).
class DocumentAttention : public Function<DocumentAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::vector<std::int64_t>& starts, std::int64_t heads, std::int64_t kv_heads,
                            std::int64_t window) {
    const Heads h = heads_of(q, heads, kv_heads, window);
    at::Tensor out = at::empty_like(q);
    const std::vector<std::int64_t> padded = padded_starts(starts, h);
    at::Tensor log_sums = at::empty({padded.back() * heads}, q.options().dtype(at::kFloat));
    for (std::size_t d = 0; d + 1 < starts.size(); ++d) {
      forward_document(q, k, v, out, log_sums_of(log_sums, padded, d, h), starts[d], starts[d + 1], h);
    }
    ctx->save_for_backward({q, k, v, out, log_sums});
    ctx->saved_data["starts"] = starts;
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["kv_heads"] = kv_heads;
    ctx->saved_data["window"] = window;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const std::int64_t heads = ctx->saved_data["heads"].toInt();
    const Heads h = heads_of(saved[0], heads, ctx->saved_data["kv_heads"].toInt(), ctx->saved_data["window"].toInt());
    const auto starts = ctx->saved_data["starts"].toIntVector();
    const std::vector<std::int64_t> padded = padded_starts(starts, h);
    const at::Tensor dout = grads[0].contiguous();
    at::Tensor dq = at::empty_like(saved[0]), dk = at::empty_like(saved[1]), dv = at::empty_like(saved[2]);
    for (std::size_t d = 0; d + 1 < starts.size(); ++d) {
      const at::Tensor sums = log_sums_of(saved[4], padded, d, h);
      backward_document(saved, sums, dout, dq, dk, dv, starts[d], starts[d + 1], h);
    }
    return {dq, dk, dv, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  // Where the documents would start if all were padded.
  static std::vector<std::int64_t> padded_starts(const std::vector<std::int64_t>& starts, const Heads& h) {
    std::vector<std::int64_t> out = {0};
    for (std::size_t d = 0; d + 1 < starts.size(); ++d) out.push_back(out.back() + h.padded(starts[d + 1] - starts[d]));
    return out;
  }

  // [kv, padded positions * group] of document d.
  static at::Tensor log_sums_of(const at::Tensor& all, const std::vector<std::int64_t>& padded, std::size_t d,
                                const Heads& h) {
    return all.narrow(0, padded[d] * h.query, (padded[d + 1] - padded[d]) * h.query).view({h.kv, -1});
  }

  static void forward_document(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                               const at::Tensor& sums, std::int64_t begin, std::int64_t end, const Heads& h) {
    const at::Tensor queries = pack(q, begin, end, h), keys = pack(k, begin, end, h), values = pack(v, begin, end, h);
    const at::Tensor own = out.narrow(0, begin, end - begin);
    for_blocks(end - begin, h, [&](std::int64_t head, const Block& block) {
      const at::Tensor scores = at::mm(block.queries(queries[head]), block.keys(keys[head]).t());
      const at::Tensor block_sums = block.queries(sums[head]);
      for_score_rows(scores, block, h, [&](auto* data, std::int64_t row, const CausalRows& shape) {
        row_kernels<std::remove_pointer_t<decltype(data)>>().causal_softmax(
            data, block_sums.mutable_data_ptr<float>() + row, shape, h.scale());
      });
      unpack(at::mm(scores, block.keys(values[head])), own, head, block, h);
    });
  }

  static void backward_document(const variable_list& saved, const at::Tensor& sums, const at::Tensor& dout,
                                const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv, std::int64_t begin,
                                std::int64_t end, const Heads& h) {
    const at::Tensor queries = pack(saved[0], begin, end, h), douts = pack(dout, begin, end, h);
    const at::Tensor keys = pack(saved[1], begin, end, h), values = pack(saved[2], begin, end, h);
    const at::Tensor dots = dots_of(dout, saved[3], begin, end, h), own = dq.narrow(0, begin, end - begin);
    at::Tensor dkeys = at::zeros(keys.sizes(), keys.options().dtype(at::kFloat)), dvalues = at::zeros_like(dkeys);
    for_blocks(end - begin, h, [&](std::int64_t head, const Block& block) {
      const at::Tensor dblock = block.queries(douts[head]), qblock = block.queries(queries[head]);
      const at::Tensor p = at::mm(qblock, block.keys(keys[head]).t());
      const at::Tensor dp = at::mm(dblock, block.keys(values[head]).t());
      const at::Tensor block_sums = block.queries(sums[head]), block_dots = block.queries(dots[head]);
      for_score_rows(p, block, h, [&](auto* data, std::int64_t row, const CausalRows& shape) {
        using T = std::remove_pointer_t<decltype(data)>;
        row_kernels<T>().causal_softmax_backward(data, dp.mutable_data_ptr<T>() + row * shape.width,
                                                 block_sums.const_data_ptr<float>() + row,
                                                 block_dots.const_data_ptr<float>() + row, shape, h.scale());
      });
      add_product(block.keys(dvalues[head]), p.t(), dblock);
      add_product(block.keys(dkeys[head]), dp.t(), qblock);
      unpack(at::mm(dp, block.keys(keys[head])), own, head, block, h);
    });
    unpack_keys(dkeys, dk.narrow(0, begin, end - begin), h);
    unpack_keys(dvalues, dv.narrow(0, begin, end - begin), h);
  }

  static void unpack_keys(const at::Tensor& packed, const at::Tensor& x, const Heads& h) {
    x.view({-1, h.kv, h.dim}).copy_(packed.narrow(1, 0, x.size(0)).permute({1, 0, 2}));
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
