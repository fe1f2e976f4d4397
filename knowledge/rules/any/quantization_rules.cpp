// bitsandbytes under FSDP.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/trainer/trainer.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = TrainerView;

std::string dtype_name(std::string name) {
  const auto dot = name.rfind('.');
  if (dot != std::string::npos) name = name.substr(dot + 1);
  if (name == "bf16") return "bfloat16";
  if (name == "fp16" || name == "half") return "float16";
  return name == "fp32" || name == "float" ? "float32" : name;
}

void optimizer_8bit(const Input& input, Hits& hits) {
  const V view(input);
  const Node* optim = view.argument("optim");
  const std::string name = text_of(optim);
  const bool bnb = name == "adamw_8bit" || name == "adamw_bnb_8bit" || name == "paged_adamw_8bit";
  if (bnb && view.runs_under_fsdp()) hits.at(*optim, quoted(name) + " comes from bitsandbytes.");
}

void quant_storage(const Input& input, Hits& hits) {
  const V view(input);
  const Node* four = nullptr;
  for (const char* name : {"load_in_4bit", "use_4bit_quantization", "use_4bit"}) {
    if (four == nullptr && is_true(view.argument(name))) four = view.argument(name);
  }
  if (four == nullptr || !view.runs_under_fsdp() || view.version().value_or(1) == 2) return;
  const Node* storage = view.argument("bnb_4bit_quant_storage");
  if (storage == nullptr) storage = view.argument("bnb_4bit_quant_storage_dtype");
  if (!is_set(storage)) {
    hits.at(*four, "bnb_4bit_quant_storage is not set, so the weights are stored as uint8.");
    return;
  }
  std::string compute = dtype_name(text_of(view.argument("bnb_4bit_compute_dtype")));
  if (compute.empty() && is_true(view.argument("bf16"))) compute = "bfloat16";
  if (compute.empty() && is_true(view.argument("fp16"))) compute = "float16";
  const std::string stored = dtype_name(text_of(storage));
  if (stored == "uint8" || (!compute.empty() && stored != compute && !contains(stored, "$"))) {
    hits.at(*storage,
            "Stored as " + quoted(stored) + (compute.empty() ? "." : ", computed in " + quoted(compute) + "."));
  }
}

void model_8bit(const Input& input, Hits& hits) {
  const V view(input);
  for (const char* name : {"load_in_8bit", "use_8bit_quantization", "use_8bit"}) {
    const Node* node = view.argument(name);
    if (is_true(node) && view.runs_under_fsdp()) hits.at(*node);
  }
}

}  // namespace

Rules any_quantization_rules() {
  constexpr std::uint32_t kTrainer = kTrainerCli | kTrainingArgsJson;
  return {
      {"bnb-8bit-optimizer-with-fsdp", Severity::kError, kTrainer | kLlamafactoryYaml, optimizer_8bit},
      {"fsdp1-bnb4bit-quant-storage", Severity::kError, kTrainer, quant_storage},
      {"bnb-8bit-model-with-fsdp", Severity::kError, kTrainer, model_8bit},
  };
}

}  // namespace fx::knowledge
