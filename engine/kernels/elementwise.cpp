#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>

#include "engine/kernels/composed.h"
#include "engine/kernels/dispatch.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/rows.h"

namespace fx::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

class RmsNorm : public Function<RmsNorm> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, double eps) {
    at::Tensor y = at::empty_like(x);
    const std::int64_t rows = x.size(0), h = x.size(1);
    at::Tensor rstd = at::empty({rows}, x.options().dtype(at::kFloat));
    for_dtype(x, [&](auto tag) {
      using T = decltype(tag);
      for_rows(rows, h, [&](std::int64_t begin, std::int64_t end) {
        row_kernels<T>().rms_norm(x.const_data_ptr<T>() + begin * h, weight.const_data_ptr<T>(),
                                  y.mutable_data_ptr<T>() + begin * h, rstd.mutable_data_ptr<float>() + begin,
                                  end - begin, h, static_cast<float>(eps));
      });
    });
    ctx->save_for_backward({x, weight, rstd});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &rstd = saved[2];
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    const std::int64_t rows = x.size(0), h = x.size(1);
    at::Tensor dw = at::zeros({h}, x.options().dtype(at::kFloat));
    for_dtype(x, [&](auto tag) {
      using T = decltype(tag);
      // Weight gradients of equal blocks of rows, added in block order: the same sum whatever the thread count.
      const std::int64_t block = 64, blocks = (rows + block - 1) / block;
      at::Tensor parts = at::zeros({blocks, h}, dw.options());
      at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t b = first; b < last; ++b) {
          const std::int64_t begin = b * block, count = std::min(block, rows - begin);
          row_kernels<T>().rms_norm_backward(dy.const_data_ptr<T>() + begin * h, x.const_data_ptr<T>() + begin * h,
                                             weight.const_data_ptr<T>(), rstd.const_data_ptr<float>() + begin,
                                             dx.mutable_data_ptr<T>() + begin * h,
                                             parts.mutable_data_ptr<float>() + b * h, count, h);
        }
      });
      dw = parts.sum(0);
    });
    return {dx, dw.to(weight.scalar_type()), at::Tensor()};
  }
};

class SwiGlu : public Function<SwiGlu> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    at::Tensor y = at::empty_like(gate);
    for_dtype(gate, [&](auto tag) {
      using T = decltype(tag);
      for_rows(gate.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
        row_kernels<T>().swiglu(gate.const_data_ptr<T>() + begin, up.const_data_ptr<T>() + begin,
                                y.mutable_data_ptr<T>() + begin, end - begin);
      });
    });
    ctx->save_for_backward({gate, up});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dgate = at::empty_like(saved[0]), dup = at::empty_like(saved[1]);
    for_dtype(dy, [&](auto tag) {
      using T = decltype(tag);
      for_rows(dy.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
        row_kernels<T>().swiglu_backward(dy.const_data_ptr<T>() + begin, saved[0].const_data_ptr<T>() + begin,
                                         saved[1].const_data_ptr<T>() + begin, dgate.mutable_data_ptr<T>() + begin,
                                         dup.mutable_data_ptr<T>() + begin, end - begin);
      });
    });
    return {dgate, dup};
  }
};

at::Tensor rotate(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine, std::int64_t heads,
                  float sign) {
  at::Tensor y = at::empty_like(x);
  const std::int64_t tokens = x.size(0), dim = x.size(1) / heads;
  for_dtype(x, [&](auto tag) {
    using T = decltype(tag);
    for_rows(tokens, heads * dim, [&](std::int64_t begin, std::int64_t end) {
      row_kernels<T>().rope(x.const_data_ptr<T>() + begin * heads * dim,
                            cosine.const_data_ptr<float>() + begin * dim / 2,
                            sine.const_data_ptr<float>() + begin * dim / 2,
                            y.mutable_data_ptr<T>() + begin * heads * dim, end - begin, heads, dim, sign);
    });
  });
  return y;
}

class Rope : public Function<Rope> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                            std::int64_t heads) {
    ctx->save_for_backward({cosine, sine});
    ctx->saved_data["heads"] = heads;
    return rotate(x, cosine, sine, heads, 1.0f);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    return {rotate(grads[0].contiguous(), saved[0], saved[1], ctx->saved_data["heads"].toInt(), -1.0f), at::Tensor(),
            at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const auto norm = [&](const at::Tensor& in) {
    return x.is_cuda() ? composed::rms_norm(in, weight, eps) : RmsNorm::apply(in, weight, eps);
  };
  if (weight.scalar_type() == x.scalar_type()) return norm(x);
  return norm(x.to(weight.scalar_type())).to(x.scalar_type());
}
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return gate.is_cuda() ? composed::swiglu(gate, up) : SwiGlu::apply(gate, up);
}
at::Tensor rope(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine, std::int64_t heads) {
  return x.is_cuda() ? composed::rope(x, cosine, sine, heads) : Rope::apply(x, cosine, sine, heads);
}

}  // namespace fx::engine
