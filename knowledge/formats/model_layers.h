// The layer classes of the model families in transformers, by model_type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

struct ModelLayers {
  std::string_view model_type;
  std::string_view prefix;               // of every class of the family
  std::vector<std::string_view> layers;  // what FSDP wraps, the decoder layer first
};

const ModelLayers* layers_of(std::string_view model_type);
// Could a model of this family have a class of this name? nullopt for a family we do not know.
std::optional<bool> has_class(std::string_view model_type, std::string_view class_name);

}  // namespace fx::knowledge
