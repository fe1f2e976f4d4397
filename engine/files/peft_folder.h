// A LoRA adapter in PEFT's format: adapter_config.json and adapter_model.safetensors.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/safetensors.h"
#include "spec/lora_spec.h"

namespace fx::engine {

inline constexpr const char* kAdapterWeights = "adapter_model.safetensors";

class PeftFolder {
 public:
  // Reads the config and the file's header, and checks that this is the adapter that lora describes, with exactly the
  // tensors of `adapters`: all that is missing, wrong or beside it is reported at once. Features of PEFT that change
  // what an adapter computes (rslora, dora, biases, patterns, extra modules) are refused by name.
  static Result<PeftFolder> open(const std::filesystem::path& folder, const LoraSpec& lora,
                                 const std::vector<AdapterShape>& adapters);
  // Rows [first, first + count) of a tensor as floats.
  Result<void> read_rows(std::string_view name, std::int64_t first, std::int64_t count, std::span<float> out) const;

 private:
  explicit PeftFolder(SafetensorsFile file) : file_(std::move(file)) {}
  SafetensorsFile file_;
};

// The header of the weights' file: fp32 tensors.
SafetensorsHeader plan_adapter_file(const std::vector<AdapterShape>& adapters);
// One rank: makes the folder (one left by an interrupted save is removed), the preallocated file, adapter_config.json
// with base_model as the model that it belongs to, and copies that model's tokenizer files.
Result<void> create_peft_folder(const std::filesystem::path& folder, const SafetensorsHeader& header,
                                const LoraSpec& lora, const std::filesystem::path& base_model);

}  // namespace fx::engine
