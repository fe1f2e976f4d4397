// The Llama family: RoPE, grouped-query attention, RMSNorm, SwiGLU, tied or untied head, no biases. Other families are
// this one with changes.
#pragma once

#include <string>
#include <vector>

#include "engine/models/model.h"

namespace fx::engine {

class Llama : public Model {
 public:
  // more: endings of the parameters that a block of a derived family has beside Llama's own.
  explicit Llama(const ModelShape& shape, const std::vector<std::string>& more = {});
  const std::vector<StageDef>& stages() const override { return stages_; }
  const std::vector<GroupDef>& groups() const override { return groups_; }

  at::Tensor embed(const StageParams& params, const Batch& batch) const override;
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override;
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override;
  at::Tensor logits(const StageParams& params, const at::Tensor& x) const override;

 protected:
  static constexpr std::size_t kBlockParams = 9;  // Llama's own in a block's params; those of a derived family follow
  struct Projections {
    at::Tensor q, k, v;  // [T, heads * head_dim] and twice [T, kv_heads * head_dim]
  };
  // Queries, keys and values of the normalised input h [T, hidden], before RoPE.
  virtual Projections project(const StageParams& params, const at::Tensor& h) const;
  const ModelShape& shape() const { return shape_; }

 private:
  ModelShape shape_;
  std::vector<StageDef> stages_;
  std::vector<GroupDef> groups_;
  at::Tensor inverse_frequencies_;  // fp32 [head_dim / 2]
};

}  // namespace fx::engine
