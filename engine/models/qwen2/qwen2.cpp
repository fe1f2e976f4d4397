#include "engine/models/qwen2/qwen2.h"

namespace fx::engine {

Qwen2::Qwen2(const ModelShape& shape) : Llama(shape, {"q_proj.bias", "k_proj.bias", "v_proj.bias"}) {}

Llama::Projections Qwen2::project(const StageParams& p, const at::Tensor& h) const {
  const Projections plain = Llama::project(p, h);
  const std::size_t own = kBlockParams;
  return {plain.q.add(p[own]), plain.k.add(p[own + 1]), plain.v.add(p[own + 2])};
}

}  // namespace fx::engine
