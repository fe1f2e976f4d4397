// The Qwen3 family (dense): Llama with an RMSNorm over each head of queries and keys, before RoPE.
#pragma once

#include "engine/models/llama/llama.h"

namespace fx::engine {

class Qwen3 : public Llama {
 public:
  explicit Qwen3(const ModelShape& shape);

 protected:
  Projections project(const StageParams& params, const at::Tensor& h) const override;
};

}  // namespace fx::engine
