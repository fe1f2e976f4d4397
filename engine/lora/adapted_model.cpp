#include "engine/lora/adapted_model.h"

#include <stdexcept>
#include <utility>

#include "engine/kernels/place_hash.h"

namespace fx::engine {

AdaptedModel::AdaptedModel(std::unique_ptr<Model> base, const ModelShape& shape, const LoraSpec& lora)
    : base_(std::move(base)), stages_(base_->stages()), groups_(base_->groups()) {
  for (auto& group : groups_) {
    for (auto& param : group.params) param.trainable = false;
  }
  groups_.push_back({"adapters", {}});
  for (const auto& adapter : adapters_of(shape, lora)) add(adapter, lora);
}

void AdaptedModel::add(const AdapterShape& adapter, const LoraSpec& lora) {
  auto& params = groups_.back().params;
  for (auto& stage : stages_) {
    for (std::size_t place = 0; place < stage.params.size(); ++place) {
      if (groups_[stage.group].params[stage.params[place]].name != adapter.weight) continue;
      stage.adapters.group = groups_.size() - 1;
      stage.adapters.scale = static_cast<float>(lora.scale());
      stage.adapters.dropout = lora.dropout;
      stage.adapters.list.push_back({place, params.size(), params.size() + 1, hashed(adapter.weight)});
      params.push_back({adapter.a.name, adapter.a.shape, true});
      params.push_back({adapter.b.name, adapter.b.shape, true});
      return;
    }
  }
  throw std::logic_error("no stage uses " + adapter.weight);
}

std::unique_ptr<Model> with_adapters(std::unique_ptr<Model> base, const ModelShape& shape,
                                     const std::optional<LoraSpec>& lora) {
  if (!lora) return base;
  return std::make_unique<AdaptedModel>(std::move(base), shape, *lora);
}

}  // namespace fx::engine
