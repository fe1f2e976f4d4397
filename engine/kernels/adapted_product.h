// A projection with a low-rank adapter beside it.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/dropout.h"

namespace fx::engine {

// x through weight, plus scale times what is left of x after dropout through b a, without making that matrix. x [T,
// in], weight [out, in], a [rank, in], b [out, rank] -> [T, out]; differentiable. Both parts add up before the one
// rounding. A weight that needs no gradient costs no product in the backward.
at::Tensor adapted_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b,
                           float scale, const Dropout& dropout);

}  // namespace fx::engine
