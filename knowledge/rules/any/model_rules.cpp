// Rules that need the model of the context, or that hold for every Trainer-based format.
#include "base/text.h"
#include "knowledge/formats/fsdp_settings.h"
#include "knowledge/formats/model_layers.h"
#include "knowledge/formats/trainer/trainer.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

constexpr std::uint32_t kWrap = kAccelerateYaml | kAccelerateLaunch | kTrainerCli | kFsdpConfigJson |
                                kTrainingArgsJson | kAxolotlYaml | kLlamafactoryYaml;

void wrap_class(const Input& input, Hits& hits) {
  const ModelLayers* layers = layers_of_model(input.context.model);
  if (layers == nullptr) return;
  const TrainerView trainer(input);  // also reads the JSON written into --fsdp_config
  const Node* node = fsdp_setting(input, "transformer_layer_cls_to_wrap");
  if (node == nullptr) node = training_argument(input, "fsdp_transformer_layer_cls_to_wrap");
  if (node == nullptr && input.is(kTrainerCli)) node = trainer.setting("transformer_layer_cls_to_wrap");
  if (!is_set(node)) return;
  // A YAML list has a rule of its own where a list is no valid spelling.
  if (node->is_list() && input.is(kAccelerateYaml | kAxolotlYaml)) return;
  for (const auto& name : words_of(node)) {
    if (name.empty() || contains(name, "$") || has_class(*layers, name)) continue;
    hits.at(
        *node, "A model of type " + std::string(layers->model_type) + " has no class " + quoted(name) + ".",
        "Write " + std::string(layers->layers.front()) + ", or leave the key out so that _no_split_modules is used.");
    return;
  }
}

bool has_adapter(const Input& input) {
  for (const char* name : {"adapter", "lora_r", "lora_rank", "peft_type"}) {
    if (is_set(input.root().find(name)) || is_set(input.context.model.find(name))) return true;
  }
  return is_true(input.root().find("load_in_4bit")) || is_true(input.root().find("load_in_8bit"));
}

void full_state_dict(const Input& input, Hits& hits) {
  const Node* node = fsdp_setting(input, "state_dict_type");
  if (to_lower(text_of(node)) != "full_state_dict" || has_adapter(input)) return;
  const auto count = parameter_count(input.context.model);
  if (count && *count > 100e9) {
    hits.at(*node, "The model has about " + std::to_string(static_cast<long long>(*count / 1e9)) + "B parameters.");
  }
}

}  // namespace

Rules any_model_rules() {
  return {
      {"wrap-class-mismatch", Severity::kError, kWrap, wrap_class},
      {"full-state-dict-large-model", Severity::kWarning,
       kAccelerateYaml | kAccelerateLaunch | kAxolotlYaml | kFsdpConfigJson | kTrainingArgsJson, full_state_dict},
  };
}

}  // namespace fx::knowledge
