// Matrix products. For bf16 there are two ways, and which one is faster depends on the processor: LibTorch's own bf16
// kernels, or widening the operands and multiplying in fp32. Both sum in fp32 and round the result once.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace fx::engine {

// The dtype in which operands of this dtype are multiplied here: bf16 stays bf16 where that is faster, becomes fp32
// elsewhere. Measured once a process; FX_BF16_PRODUCTS=bf16|fp32 fixes it.
at::ScalarType product_dtype(at::ScalarType dtype);
// Of this operand: only on the CPU is there anything to choose.
at::ScalarType product_dtype(const at::Tensor& operand);

// oneDNN, behind LibTorch's bf16 products, makes a kernel for each shape and keeps the last 1,024: half a MiB each, in
// two caches. Keeps as many as a step of so many tokens a micro-batch goes round in. Call before the first product and
// before other threads start; what LRU_CACHE_CAPACITY and ONEDNN_PRIMITIVE_CACHE_CAPACITY say stays.
void limit_kept_kernels(std::int64_t tokens);

// 1e9 operations per second of this process's products in this dtype, all its threads together: the best of a few short
// ones, about 50 ms in all.
double product_gflops(at::ScalarType dtype);

// A copy in the dtype of products, or the tensor itself.
at::Tensor widen_for_products(const at::Tensor& tensor);
// A product in the dtype of its operands again: a copy, or the tensor itself.
at::Tensor narrow_product(const at::Tensor& wide, at::ScalarType dtype);

// x [T, in], weight [out, in] -> [T, out]; differentiable.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight);

// x through three weights at once: widened once, and its gradient rounded once.
std::array<at::Tensor, 3> three_products(const at::Tensor& x, const at::Tensor& first, const at::Tensor& second,
                                         const at::Tensor& third);

}  // namespace fx::engine
