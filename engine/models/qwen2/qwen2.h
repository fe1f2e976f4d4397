// The Qwen2 family (2 and 2.5): Llama with biases on the query, key and value projections.
#pragma once

#include "engine/models/llama/llama.h"

namespace fx::engine {

class Qwen2 : public Llama {
 public:
  explicit Qwen2(const ModelShape& shape);

 protected:
  Projections project(const StageParams& params, const at::Tensor& h) const override;
};

}  // namespace fx::engine
