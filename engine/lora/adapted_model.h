// A model with LoRA adapters: the base's parameters are frozen, and all adapters are one more group.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/models/model.h"
#include "spec/lora_spec.h"

namespace fx::engine {

// Adapters are one group for all blocks: they are small, so that a micro-batch moves them with one all-gather and one
// reduce-scatter, and the base is only gathered.
class AdaptedModel : public Model {
 public:
  // base: a model of this shape.
  AdaptedModel(std::unique_ptr<Model> base, const ModelShape& shape, const LoraSpec& lora);
  const std::vector<StageDef>& stages() const override { return stages_; }
  const std::vector<GroupDef>& groups() const override { return groups_; }
  at::Tensor embed(const StageParams& params, const Batch& batch) const override { return base_->embed(params, batch); }
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override {
    return base_->block(params, x, batch);
  }
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override {
    return base_->head(params, x, batch, scale, with_gradient);
  }
  at::Tensor logits(const StageParams& params, const at::Tensor& x) const override { return base_->logits(params, x); }

 private:
  void add(const AdapterShape& adapter, const LoraSpec& lora);
  std::unique_ptr<Model> base_;
  std::vector<StageDef> stages_;
  std::vector<GroupDef> groups_;
};

// base itself without a LoraSpec.
std::unique_ptr<Model> with_adapters(std::unique_ptr<Model> base, const ModelShape& shape,
                                     const std::optional<LoraSpec>& lora);

}  // namespace fx::engine
