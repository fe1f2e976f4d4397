#include "engine/kernels/matmul.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <time.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "engine/kernels/rows.h"

namespace fx::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds of one product of square matrices.
double product_seconds(const at::Tensor& square, double (*clock)()) {
  const at::NoGradGuard guard;
  const double began = clock();
  at::mm(square, square);
  return clock() - began;
}

at::Tensor square_of(at::ScalarType dtype, std::int64_t n) {
  return at::ones({n, n}, at::TensorOptions().dtype(dtype));
}

at::ScalarType measure_bf16() {
  const char* wish = std::getenv("FX_BF16_PRODUCTS");
  if (wish != nullptr && std::string_view(wish) == "bf16") return at::kBFloat16;
  if (wish != nullptr && std::string_view(wish) == "fp32") return at::kFloat;
  // In turns, so that a busy neighbour on the same core meets both; the first products also make the kernels.
  const at::Tensor narrow = square_of(at::kBFloat16, 384), wide = square_of(at::kFloat, 384);
  double bf16 = std::numeric_limits<double>::infinity(), fp32 = bf16;
  for (int i = 0; i < 10; ++i) {
    bf16 = std::min(bf16, product_seconds(narrow, thread_seconds));
    fp32 = std::min(fp32, product_seconds(wide, thread_seconds));
  }
  // Widening costs something too: fp32 must win clearly.
  return bf16 > 1.25 * fp32 ? at::kFloat : at::kBFloat16;
}

// bf16 <-> fp32 of a dense tensor by the row kernels; the layout stays.
at::Tensor converted(const at::Tensor& from, at::ScalarType dtype) {
  if (from.scalar_type() == dtype) return from;
  if (!from.is_cpu() || !from.is_non_overlapping_and_dense()) return from.to(dtype);
  at::Tensor to = at::empty_like(from, from.options().dtype(dtype));
  at::parallel_for(0, from.numel(), 16384, [&](std::int64_t begin, std::int64_t end) {
    const RowKernels<c10::BFloat16>& kernels = row_kernels<c10::BFloat16>();
    if (dtype == at::kFloat) {
      kernels.widen(to.mutable_data_ptr<float>() + begin, from.const_data_ptr<c10::BFloat16>() + begin, end - begin);
    } else {
      kernels.narrow(to.mutable_data_ptr<c10::BFloat16>() + begin, from.const_data_ptr<float>() + begin, end - begin,
                     1.0f);
    }
  });
  return to;
}

class Linear : public Function<Linear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight) {
    // A frozen weight's gradient is all that x would be needed for.
    ctx->save_for_backward({weight.requires_grad() ? x : at::Tensor(), weight});
    const at::Tensor y = at::mm(widen_for_products(x), widen_for_products(weight).t());
    return converted(y, x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const at::Tensor dy = widen_for_products(grads[0]);
    at::Tensor dx, dw;
    if (ctx->needs_input_grad(0)) dx = converted(at::mm(dy, widen_for_products(weight)), grads[0].scalar_type());
    if (ctx->needs_input_grad(1)) dw = converted(at::mm(dy.t(), widen_for_products(x)), weight.scalar_type());
    return {dx, dw};
  }
};

// Three weights of one input. The gradients of the input are added in the dtype of products.
class SharedLinear : public Function<SharedLinear> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& first,
                               const at::Tensor& second, const at::Tensor& third) {
    const bool trained = first.requires_grad() || second.requires_grad() || third.requires_grad();
    ctx->save_for_backward({trained ? x : at::Tensor(), first, second, third});
    const at::Tensor wide = widen_for_products(x);
    variable_list out;
    for (const at::Tensor* weight : {&first, &second, &third}) {
      out.push_back(converted(at::mm(wide, widen_for_products(*weight).t()), x.scalar_type()));
    }
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor x = saved[0].defined() ? widen_for_products(saved[0]) : at::Tensor();
    variable_list out(4);
    for (std::size_t i = 0; i < 3; ++i) {
      const at::Tensor& weight = saved[i + 1];
      const at::Tensor dy = widen_for_products(grads[i]);
      if (ctx->needs_input_grad(0)) add_product(out[0], dy, widen_for_products(weight));
      if (ctx->needs_input_grad(i + 1)) out[i + 1] = converted(at::mm(dy.t(), x), weight.scalar_type());
    }
    if (out[0].defined()) out[0] = converted(out[0], grads[0].scalar_type());
    return out;
  }

 private:
  static void add_product(at::Tensor& total, const at::Tensor& a, const at::Tensor& b) {
    if (total.defined()) {
      total.addmm_(a, b);
    } else {
      total = at::mm(a, b);
    }
  }
};

}  // namespace

at::ScalarType product_dtype(at::ScalarType dtype) {
  static const at::ScalarType bf16 = measure_bf16();
  return dtype == at::kBFloat16 ? bf16 : dtype;
}

void limit_kept_kernels(std::int64_t tokens) {
  // The layers' own products, and three for each shape of a block of attention (attention.cpp): a long document has one
  // for each 128 tokens, and the ends of short ones come on top.
  const std::string kernels = std::to_string(64 + tokens / 16);
  setenv("LRU_CACHE_CAPACITY", kernels.c_str(), 0);
  setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", kernels.c_str(), 0);
}

double product_gflops(at::ScalarType dtype) {
  const std::int64_t n = 768;
  const at::Tensor square = square_of(product_dtype(dtype), n);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) best = std::min(best, product_seconds(square, wall_seconds));
  return 2e-9 * static_cast<double>(n * n * n) / best;
}

at::ScalarType product_dtype(const at::Tensor& operand) {
  return operand.is_cpu() ? product_dtype(operand.scalar_type()) : operand.scalar_type();
}

at::Tensor widen_for_products(const at::Tensor& tensor) {
  return converted(tensor, product_dtype(tensor));
}

at::Tensor narrow_product(const at::Tensor& wide, at::ScalarType dtype) {
  return converted(wide, dtype);
}

std::array<at::Tensor, 3> three_products(const at::Tensor& x, const at::Tensor& first, const at::Tensor& second,
                                         const at::Tensor& third) {
  const variable_list out = SharedLinear::apply(x, first, second, third);
  return {out[0], out[1], out[2]};
}

at::Tensor product(const at::Tensor& x, const at::Tensor& weight) {
  return Linear::apply(x, weight);
}

}  // namespace fx::engine
