#include "spec/lora_spec.h"

#include <algorithm>

#include "spec/fields.h"

namespace fx {
namespace {

constexpr const char* kAllLinear = "all-linear";

const std::vector<std::string>& projections() {
  static const std::vector<std::string> names = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                 "gate_proj", "up_proj", "down_proj"};
  return names;
}

std::vector<std::string> choices() {
  std::vector<std::string> out = projections();
  out.push_back(kAllLinear);
  return out;
}

}  // namespace

const Fields<LoraSpec>& lora_fields() {
  static const auto fields =
      Fields<LoraSpec>{}
          .add("rank", &LoraSpec::rank, "width of the adapters (default 16)")
          .min(1)
          .max(4096)
          .add("alpha", &LoraSpec::alpha, "adapters count alpha / rank (default: twice the rank)")
          .min(0)
          .max(1e6)
          .add("target_modules", &LoraSpec::target_modules,
               "projections that get an adapter, or all-linear (default): every one of each block, not the head")
          .one_of(choices())
          .max_items(16)
          .add("dropout", &LoraSpec::dropout, "share of the adapters' input that training drops (default 0)")
          .min(0)
          .max(0.99)
          .add("adapter", &LoraSpec::adapter, "PEFT adapter folder to go on from (default: new adapters)");
  return fields;
}

void check_lora(const LoraSpec& lora, std::vector<Error>& errors) {
  if (lora.target_modules.empty()) {
    errors.push_back(
        invalid_argument("lora.target_modules", "is empty: nothing would be trained", "for example [\"all-linear\"]"));
  }
}

std::vector<std::string> adapted_modules(const LoraSpec& lora) {
  const auto asked = [&](const std::string& name) {
    return std::find(lora.target_modules.begin(), lora.target_modules.end(), name) != lora.target_modules.end();
  };
  std::vector<std::string> out;
  for (const auto& name : projections()) {
    if (asked(name) || asked(kAllLinear)) out.push_back(name);
  }
  return out;
}

std::vector<AdapterShape> adapters_of(const ModelShape& shape, const LoraSpec& lora) {
  const auto modules = adapted_modules(lora);
  std::vector<AdapterShape> out;
  for (const auto& parameter : parameters_of(shape)) {
    for (const auto& module : modules) {
      const std::string ending = "." + module + ".weight";
      if (!parameter.name.ends_with(ending)) continue;
      const std::string stem = "base_model.model." + parameter.name.substr(0, parameter.name.size() - 6);
      out.push_back({parameter.name,
                     {stem + "lora_A.weight", {lora.rank, parameter.shape[1]}},
                     {stem + "lora_B.weight", {parameter.shape[0], lora.rank}}});
    }
  }
  return out;
}

std::int64_t adapter_parameter_count(const ModelShape& shape, const LoraSpec& lora) {
  std::int64_t total = 0;
  for (const auto& adapter : adapters_of(shape, lora)) total += adapter.a.count() + adapter.b.count();
  return total;
}

}  // namespace fx
