#include "engine/files/peft_folder.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "engine/files/hf_output.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;
constexpr const char* kConfigFile = "adapter_config.json";
constexpr std::size_t kMostErrors = 20;

bool is_unset(const Json& value) {
  return value.is_null() || value == false || ((value.is_array() || value.is_object()) && value.empty());
}

// What the engine would compute otherwise than PEFT does.
void check_features(const Json& config, const std::string& file, std::vector<Error>& errors) {
  const auto text = [&](const char* key, const char* otherwise) {
    return config.contains(key) && config[key].is_string() ? config[key].get<std::string>() : std::string(otherwise);
  };
  if (text("peft_type", "") != "LORA")
    errors.push_back(unsupported(file, "peft_type is not LORA", "give a LoRA adapter"));
  if (text("bias", "none") != "none") errors.push_back(unsupported(file, "bias is not \"none\"", "train it without"));
  for (const char* key : {"use_rslora", "use_dora", "fan_in_fan_out", "modules_to_save", "rank_pattern",
                          "alpha_pattern", "layer_replication", "trainable_token_indices", "target_parameters"}) {
    if (config.contains(key) && !is_unset(config[key])) {
      errors.push_back(unsupported(file, std::string(key) + " is set", "give an adapter without it"));
    }
  }
}

void check_number(const Json& config, const char* key, double wanted, const char* field, const std::string& file,
                  std::vector<Error>& errors) {
  if (config.contains(key) && config[key].is_number() && config[key].get<double>() == wanted) return;
  const std::string said = config.contains(key) ? quote_input(config[key].dump(), 40) : "missing";
  Json number = wanted;
  if (wanted == std::floor(wanted)) number = static_cast<long long>(wanted);
  errors.push_back(invalid_argument(file, std::string(key) + " is " + said + ", the run asks for " + number.dump(),
                                    std::string("make ") + field + " in the run spec equal"));
}

Result<void> check_config(const fs::path& path, const LoraSpec& lora) {
  const auto text = read_file(path, std::size_t{4} << 20);
  if (!text) return text.error();
  const auto config = parse_json(*text);
  if (!config || !config->is_object()) return invalid_argument(path.string(), "not a JSON object");
  std::vector<Error> errors;
  check_features(*config, path.string(), errors);
  check_number(*config, "r", static_cast<double>(lora.rank), "lora.rank", path.string(), errors);
  check_number(*config, "lora_alpha", lora.alpha, "lora.alpha", path.string(), errors);
  if (!errors.empty()) return combine(std::move(errors));
  return {};
}

Result<void> check_tensors(const SafetensorsFile& file, const std::vector<AdapterShape>& adapters) {
  const std::string where = file.path().string();
  std::vector<Error> errors;
  std::size_t found = 0;
  for (const auto& adapter : adapters) {
    for (const auto* wanted : {&adapter.a, &adapter.b}) {
      const TensorInfo* tensor = file.header().find(wanted->name);
      found += tensor != nullptr ? 1 : 0;
      if (errors.size() >= kMostErrors) continue;
      if (tensor == nullptr) {
        errors.push_back(invalid_argument(where, "has no tensor " + wanted->name,
                                          "make lora.target_modules in the run spec those of the adapter"));
      } else if (tensor->shape != wanted->shape) {
        errors.push_back(invalid_argument(where, "tensor " + wanted->name + " has another shape than the run asks for",
                                          "the adapter belongs to another model or rank"));
      }
    }
  }
  if (found < file.header().tensors.size()) {
    errors.push_back(invalid_argument(where, "holds tensors of modules that the run does not adapt",
                                      "make lora.target_modules in the run spec those of the adapter"));
  }
  if (!errors.empty()) return combine(std::move(errors));
  return {};
}

Json config_of(const LoraSpec& lora, const fs::path& base_model) {
  Json alpha = lora.alpha;
  if (lora.alpha == std::floor(lora.alpha)) alpha = static_cast<long long>(lora.alpha);
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", base_model.string()},
          {"r", lora.rank},
          {"lora_alpha", std::move(alpha)},
          {"lora_dropout", lora.dropout},
          {"target_modules", adapted_modules(lora)},
          {"bias", "none"},
          {"use_rslora", false},
          {"use_dora", false},
          {"fan_in_fan_out", false},
          {"init_lora_weights", true},
          {"inference_mode", true}};
}

}  // namespace

Result<PeftFolder> PeftFolder::open(const fs::path& folder, const LoraSpec& lora,
                                    const std::vector<AdapterShape>& adapters) {
  if (auto checked = check_config(folder / kConfigFile, lora); !checked) return checked.error();
  auto file = SafetensorsFile::open(folder / kAdapterWeights);
  if (!file) return file.error();
  if (auto checked = check_tensors(*file, adapters); !checked) return checked.error();
  return PeftFolder(std::move(*file));
}

Result<void> PeftFolder::read_rows(std::string_view name, std::int64_t first, std::int64_t count,
                                   std::span<float> out) const {
  const TensorInfo* tensor = file_.header().find(name);
  if (tensor == nullptr) return not_found("no tensor \"" + quote_input(name, 120) + "\" in " + file_.path().string());
  return file_.read_rows(*tensor, first, count, out);
}

SafetensorsHeader plan_adapter_file(const std::vector<AdapterShape>& adapters) {
  std::vector<TensorPlan> tensors;
  for (const auto& adapter : adapters) {
    tensors.push_back({adapter.a.name, FileDtype::kF32, adapter.a.shape});
    tensors.push_back({adapter.b.name, FileDtype::kF32, adapter.b.shape});
  }
  return plan_safetensors(tensors);
}

Result<void> create_peft_folder(const fs::path& folder, const SafetensorsHeader& header, const LoraSpec& lora,
                                const fs::path& base_model) {
  std::error_code code;
  fs::remove_all(folder, code);
  if (auto made = make_folder(folder); !made) return made;
  if (auto made = create_safetensors(folder / kAdapterWeights, header); !made) return made;
  if (auto copied = copy_tokenizer_files(base_model, folder); !copied) return copied;
  return write_file_atomic(folder / kConfigFile, to_text(config_of(lora, base_model), 2) + "\n");
}

}  // namespace fx::engine
