// LLaMA-Factory, the v0 yaml (HfArgumentParser) and the v1 yaml (plugins).
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/llamafactory/arguments.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

const Node* top(const Input& input, std::string_view name) {
  return input.root().find(name);
}
long long size(const Input& input, std::string_view name) {
  return integer_of(top(input, name)).value_or(1);
}
bool is_v1(const Input& input) {
  return top(input, "model_name_or_path") == nullptr && top(input, "model") != nullptr;
}
bool fsdp_on(const Input& input) {
  return is_set(top(input, "fsdp")) && !is_false(top(input, "fsdp"));
}

// The table may lack an argument of another release, so a name far from every known one is reported only when it is
// known to belong to another framework.
void check_argument(const Input& input, const Node& argument, Hits& hits) {
  for (const auto& removed : llamafactory_removed_arguments()) {
    if (argument.name != removed.name) continue;
    if (input.context.known_at_least("transformers", removed.since))
      hits.at(argument, "The installed transformers has no such argument any more.", std::string(removed.fix));
    return;
  }
  const auto& known = llamafactory_arguments();
  const bool evaluation_only = argument.name == "batch_size" && top(input, "task") == nullptr;
  if (!evaluation_only && std::find(known.begin(), known.end(), argument.name) != known.end()) return;
  for (const auto& foreign : llamafactory_foreign_arguments()) {
    if (argument.name != foreign.name) continue;
    hits.at(argument, "It belongs to another framework.", "Write " + std::string(foreign.instead) + " instead.");
    return;
  }
  const auto near = argument.name.size() >= 5 ? nearest(argument.name, known) : std::nullopt;
  if (near) hits.at(argument, "The nearest argument is " + *near + ".", "Write " + *near + ".");
}

void unknown_argument(const Input& input, Hits& hits) {
  if (is_v1(input)) return;
  for (const Node& child : input.root().children) {
    if (!hits.full()) check_argument(input, child, hits);
  }
}

void fsdp_and_deepspeed(const Input& input, Hits& hits) {
  const Node* fsdp = fsdp_on(input)                      ? top(input, "fsdp")
                     : is_set(top(input, "fsdp_config")) ? top(input, "fsdp_config")
                                                         : nullptr;
  if (fsdp != nullptr && is_set(top(input, "deepspeed"))) hits.at(*fsdp);
}

void quant_needs_lora(const Input& input, Hits& hits) {
  const Node* bits = top(input, "quantization_bit");
  const std::string type = top(input, "finetuning_type") == nullptr ? "lora" : text_of(top(input, "finetuning_type"));
  if (is_set(bits) && type != "lora" && type != "oft") hits.at(*bits, "finetuning_type is " + quoted(type) + ".");
}

void quant_bits(const Input& input, Hits& hits) {
  const Node* bits = top(input, "quantization_bit");
  if (!is_set(bits) || !fsdp_on(input)) return;
  const std::string method = to_lower(text_of(top(input, "quantization_method")));
  if (integer_of(bits) != 4 || method == "hqq" || method == "eetq") hits.at(*bits);
}

void ptq_model(const Input& input, Hits& hits) {
  const Node* name = top(input, "model_name_or_path");
  if (name != nullptr && fsdp_on(input) && is_set(input.context.model.find("quantization_config"))) hits.at(*name);
}

void fp8_allgather(const Input& input, Hits& hits) {
  const Node* node = top(input, "fp8_enable_fsdp_float8_all_gather");
  const Node* fsdp = top(input, "fsdp");
  const bool strategies = is_set(fsdp) && !is_true(fsdp) && !is_false(fsdp);
  if (is_true(node) && strategies && input.context.known_below("transformers", "5.10")) hits.at(*node);
}

void fp8_quant(const Input& input, Hits& hits) {
  if (is_true(top(input, "fp8")) && is_set(top(input, "quantization_bit"))) hits.at(*top(input, "quantization_bit"));
}

void plugin_name(const Input& input, Hits& hits) {
  if (!is_v1(input)) return;
  for (const Node& child : input.root().children) {
    const bool config = child.name.size() > 7 && child.name.substr(child.name.size() - 7) == "_config";
    if (config && child.is_map() && !child.is_empty() && child.find("name") == nullptr) hits.at(child);
  }
}

void cp_needs_fsdp2(const Input& input, Hits& hits) {
  if (!is_v1(input) || size(input, "cp_size") <= 1) return;
  const Node* dist = top(input, "dist_config");
  if (dist != nullptr && dist->is_map() && dist->find("name") == nullptr) return;  // plugin-name says it
  if (text_of(input.root().at("dist_config.name")) != "fsdp2") hits.at(*top(input, "cp_size"));
}

void dynamic_batching(const Input& input, Hits& hits) {
  const Node* strategy = top(input, "batching_strategy");
  if (!is_v1(input) || text_of(strategy) != "dynamic_batching") return;
  if (integer_of(top(input, "max_steps")).value_or(0) <= 0) {
    hits.at(*strategy, "max_steps is missing.");
  } else if (is_set(top(input, "save_epochs"))) {
    hits.at(*strategy, "save_epochs is given.");
  }
}

void mesh_mismatch(const Input& input, Hits& hits) {
  const auto world = input.context.world_size();
  if (!is_v1(input) || !world) return;
  for (const auto& [a, b] : {std::pair("dp_size", "cp_size"), std::pair("mp_shard_size", "mp_replicate_size")}) {
    const long long first = size(input, a), second = size(input, b);
    if (first <= 0 || second <= 0 || first > 100000 || second > 100000) continue;
    const bool given_a = is_set(top(input, a)), given_b = is_set(top(input, b));
    if (!given_a && !given_b) continue;
    if (given_a ? first * second == *world : *world % second == 0) continue;
    const Node* at = given_a ? top(input, a) : top(input, b);
    if (given_a && given_b && top(input, b)->line < at->line) at = top(input, b);
    hits.at(*at,
            std::to_string(first) + " x " + std::to_string(second) + " against " + std::to_string(*world) + " ranks.");
    return;
  }
}

void layerwise(const Input& input, Hits& hits) {
  const bool distributed =
      fsdp_on(input) || is_set(top(input, "deepspeed")) || input.context.world_size().value_or(1) > 1;
  if (!distributed) return;
  for (const char* name : {"galore", "apollo"}) {
    const Node* use = top(input, "use_" + std::string(name));
    if (is_true(use) && is_true(top(input, std::string(name) + "_layerwise"))) hits.at(*use);
  }
  if (is_true(top(input, "use_badam")) && text_of(top(input, "badam_mode")) == "ratio")
    hits.at(*top(input, "use_badam"));
}

}  // namespace

Rules llamafactory_rules() {
  constexpr std::uint32_t kFile = kLlamafactoryYaml;
  return {
      {"llamafactory-unknown-arg", Severity::kError, kFile, unknown_argument},
      {"llamafactory-fsdp-and-deepspeed", Severity::kError, kFile, fsdp_and_deepspeed},
      {"llamafactory-quant-needs-lora", Severity::kError, kFile, quant_needs_lora},
      {"llamafactory-fsdp-quant-bits", Severity::kError, kFile, quant_bits},
      {"llamafactory-fsdp-ptq-model", Severity::kError, kFile, ptq_model},
      {"llamafactory-fp8-allgather-needs-fsdp2", Severity::kWarning, kFile, fp8_allgather},
      {"llamafactory-fp8-with-quant", Severity::kError, kFile, fp8_quant},
      {"llamafactory-v1-plugin-name", Severity::kError, kFile, plugin_name},
      {"llamafactory-v1-cp-needs-fsdp2", Severity::kError, kFile, cp_needs_fsdp2},
      {"llamafactory-v1-dynamic-batching", Severity::kError, kFile, dynamic_batching},
      {"llamafactory-v1-mesh-mismatch", Severity::kError, kFile, mesh_mismatch},
      {"llamafactory-layerwise-distributed", Severity::kError, kFile, layerwise},
  };
}

}  // namespace fx::knowledge
