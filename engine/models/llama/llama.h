// The Llama family: RoPE, grouped-query attention, RMSNorm, SwiGLU, tied or untied head, no biases.
#pragma once

#include "engine/models/model.h"

namespace fx::engine {

class Llama : public Model {
 public:
  explicit Llama(const ModelShape& shape);
  const std::vector<StageDef>& stages() const override { return stages_; }
  const std::vector<GroupDef>& groups() const override { return groups_; }

  at::Tensor embed(const StageParams& params, const Batch& batch) const override;
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override;
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override;
  at::Tensor logits(const StageParams& params, const at::Tensor& x) const override;

 private:
  ModelShape shape_;
  std::vector<StageDef> stages_;
  std::vector<GroupDef> groups_;
  at::Tensor inverse_frequencies_;  // fp32 [head_dim / 2]
};

}  // namespace fx::engine
