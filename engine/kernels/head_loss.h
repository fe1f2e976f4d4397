// Final norm, head and cross-entropy in one, a chunk of tokens at a time: [T, vocab] logits never exist whole.
#pragma once

#include "engine/models/model.h"

namespace fx::engine {

// x [T, hidden], head [vocab, hidden], labels int64 [T] (negative: not counted). Returns the summed loss (fp32 softmax)
// and, with_gradient, scale * d(sum)/dx; scale * the gradients of norm and head are added to their grad(). Tokens
// without a valid label are left out of the head's products.
HeadResult norm_head_loss(const at::Tensor& x, const at::Tensor& norm, double eps, const at::Tensor& head,
                          const at::Tensor& labels, float scale, bool with_gradient);

}  // namespace fx::engine
