#include "engine/models/qwen3/qwen3.h"

#include "engine/kernels/ops.h"

namespace fx::engine {

Qwen3::Qwen3(const ModelShape& shape) : Llama(shape, {"q_norm.weight", "k_norm.weight"}) {}

Llama::Projections Qwen3::project(const StageParams& p, const at::Tensor& h) const {
  const Projections plain = Llama::project(p, h);
  const auto norm_heads = [&](const at::Tensor& x, const at::Tensor& weight) {
    return rms_norm(x.view({-1, shape().head_dim}), weight, shape().rms_norm_eps).view(x.sizes());
  };
  return {norm_heads(plain.q, p[kBlockParams]), norm_heads(plain.k, p[kBlockParams + 1]), plain.v};
}

}  // namespace fx::engine
