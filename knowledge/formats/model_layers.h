// The layer classes of the model families in transformers, by model_type.
#pragma once

#include <string_view>
#include <vector>

#include "knowledge/config/node.h"

namespace fx::knowledge {

struct ModelLayers {
  std::string_view model_type;
  std::string_view prefix;               // of every class of the family
  std::vector<std::string_view> layers;  // what FSDP wraps, the decoder layer first
};

const ModelLayers* layers_of(std::string_view model_type);
// By the fields of a config.json: model_type, or the architecture when that is all there is.
const ModelLayers* layers_of_model(const Node& model);
// Could a model of this family have a class of this name?
bool has_class(const ModelLayers& model, std::string_view class_name);

}  // namespace fx::knowledge
