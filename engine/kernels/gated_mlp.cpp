#include "engine/kernels/gated_mlp.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "engine/kernels/dispatch.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/rows.h"

namespace fx::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor through(const at::Tensor& wide, const at::Tensor& weight) {
  return at::mm(wide, widen_for_products(weight).t());
}

struct Activation {
  at::Tensor dgate, dup, y;  // in the dtype of dy
};

// dy, the gradient of y = silu(gate) * up, becomes dgate where products are fp32.
Activation activate_backward(const at::Tensor& dy, const at::Tensor& gate, const at::Tensor& up) {
  Activation out{dy, at::empty_like(dy), at::empty_like(dy)};
  if (dy.scalar_type() != at::kFloat) {
    out.dgate = at::empty_like(dy);
    out.y = swiglu(gate, up);
  }
  for_dtype(gate, [&](auto tag) {
    using T = decltype(tag);
    for_rows(gate.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
      const T *g = gate.const_data_ptr<T>() + begin, *u = up.const_data_ptr<T>() + begin;
      if (dy.scalar_type() == at::kFloat) {
        row_kernels<T>().swiglu_backward_wide(dy.mutable_data_ptr<float>() + begin, g, u,
                                              out.dup.mutable_data_ptr<float>() + begin,
                                              out.y.mutable_data_ptr<float>() + begin, end - begin);
      } else {
        row_kernels<T>().swiglu_backward(dy.const_data_ptr<T>() + begin, g, u, out.dgate.mutable_data_ptr<T>() + begin,
                                         out.dup.mutable_data_ptr<T>() + begin, end - begin);
      }
    });
  });
  return out;
}

class GatedMlp : public Function<GatedMlp> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& gate_weight,
                            const at::Tensor& up_weight, const at::Tensor& down_weight) {
    const at::ScalarType dtype = x.scalar_type();
    const at::Tensor wide = widen_for_products(x);
    const at::Tensor gate = through(wide, gate_weight), up = through(wide, up_weight);
    const bool trained = gate_weight.requires_grad() || up_weight.requires_grad();
    ctx->save_for_backward({trained ? x : at::Tensor(), gate_weight, up_weight, down_weight,
                            narrow_product(gate, dtype), narrow_product(up, dtype)});
    return narrow_product(through(swiglu(gate, up), down_weight), dtype);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &gate_weight = saved[1], &up_weight = saved[2], &down_weight = saved[3];
    const at::ScalarType dtype = grads[0].scalar_type();
    const at::Tensor dout = widen_for_products(grads[0]);
    const Activation a = activate_backward(at::mm(dout, widen_for_products(down_weight)), saved[4], saved[5]);
    at::Tensor dx, dgate_weight, dup_weight, ddown_weight;
    if (ctx->needs_input_grad(3)) ddown_weight = narrow_product(at::mm(dout.t(), a.y), dtype);
    if (x.defined()) {
      const at::Tensor wide = widen_for_products(x);
      if (ctx->needs_input_grad(1)) dgate_weight = narrow_product(at::mm(a.dgate.t(), wide), dtype);
      if (ctx->needs_input_grad(2)) dup_weight = narrow_product(at::mm(a.dup.t(), wide), dtype);
    }
    if (ctx->needs_input_grad(0)) {
      dx = at::mm(a.dgate, widen_for_products(gate_weight));
      dx = narrow_product(dx.addmm_(a.dup, widen_for_products(up_weight)), dtype);
    }
    return {dx, dgate_weight, dup_weight, ddown_weight};
  }
};

}  // namespace

at::Tensor gated_mlp(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down) {
  return GatedMlp::apply(x, gate, up, down);
}

}  // namespace fx::engine
