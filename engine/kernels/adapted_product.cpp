#include "engine/kernels/adapted_product.h"

#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "engine/kernels/matmul.h"

namespace fx::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

class AdaptedLinear : public Function<AdaptedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& a,
                            const at::Tensor& b, double scale, const Dropout& dropout) {
    const at::Tensor wide = widen_for_products(x);
    const at::Tensor low = at::mm(drop(wide, dropout), widen_for_products(a).t()).mul_(scale);
    at::Tensor y = at::mm(wide, widen_for_products(weight).t());
    y.addmm_(low, widen_for_products(b).t());
    ctx->save_for_backward({x, weight, a, b, low});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["p"] = dropout.p;
    ctx->saved_data["rows"] = dropout.rows;
    ctx->saved_data["stream"] = static_cast<std::int64_t>(dropout.stream);
    return narrow_product(y, x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &a = saved[2], &b = saved[3], &low = saved[4];
    const Dropout dropout{ctx->saved_data["p"].toDouble(), ctx->saved_data["rows"].toTensor(),
                          static_cast<std::uint64_t>(ctx->saved_data["stream"].toInt())};
    const at::Tensor dy = widen_for_products(grads[0]);
    const at::Tensor dlow = at::mm(dy, widen_for_products(b)).mul_(ctx->saved_data["scale"].toDouble());
    at::Tensor dx, dw, da, db;
    if (ctx->needs_input_grad(0)) dx = narrow_product(input_gradient(dy, weight, dlow, a, dropout), x.scalar_type());
    if (ctx->needs_input_grad(1)) dw = narrow_product(at::mm(dy.t(), widen_for_products(x)), weight.scalar_type());
    if (ctx->needs_input_grad(2))
      da = narrow_product(at::mm(dlow.t(), drop(widen_for_products(x), dropout)), a.scalar_type());
    if (ctx->needs_input_grad(3)) db = narrow_product(at::mm(dy.t(), low), b.scalar_type());
    return {dx, dw, da, db, at::Tensor(), at::Tensor()};
  }

 private:
  static at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& weight, const at::Tensor& dlow,
                                   const at::Tensor& a, const Dropout& dropout) {
    at::Tensor dx = at::mm(dy, widen_for_products(weight));
    if (dropout.p == 0) return dx.addmm_(dlow, widen_for_products(a));
    return dx.add_(drop(at::mm(dlow, widen_for_products(a)), dropout));
  }
};

}  // namespace

at::Tensor adapted_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b,
                           float scale, const Dropout& dropout) {
  return AdaptedLinear::apply(x, weight, a, b, static_cast<double>(scale), dropout);
}

}  // namespace fx::engine
