// Keys and values of axolotl's fsdp_config.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/axolotl/axolotl.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = AxolotlView;

const std::vector<std::string>& schema_keys() {
  static const std::vector<std::string> keys = {"activation_checkpointing", "offload_params",
                                                "sync_module_states",       "cpu_ram_efficient_loading",
                                                "cpu_offload_pin_memory",   "use_orig_params",
                                                "state_dict_type",          "final_state_dict_type",
                                                "auto_wrap_policy",         "transformer_layer_cls_to_wrap",
                                                "min_num_params",           "reshard_after_forward",
                                                "mixed_precision_policy",   "version"};
  return keys;
}
const std::vector<std::string>& dropped_keys() {
  static const std::vector<std::string> keys = {"backward_prefetch", "forward_prefetch", "limit_all_gathers",
                                                "sharding_strategy"};
  return keys;
}
bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
std::string bare(const Node& node) {
  return node.name.rfind("fsdp_", 0) == 0 ? node.name.substr(5) : node.name;
}

void unknown_key(const Input& input, Hits& hits) {
  const V view(input);
  if (view.block == nullptr) return;
  for (const Node& child : view.block->children) {
    const std::string name = bare(child);
    if (has(schema_keys(), name) || has(dropped_keys(), name) || name == "backward_prefetch_policy" ||
        name == "ignored_modules")
      continue;
    report_unknown(child, name, schema_keys(),
                   {{"cpu_offload", "offload_params"}, {"transformer_cls_to_wrap", "transformer_layer_cls_to_wrap"}},
                   hits);
  }
}

void dropped_key(const Input& input, Hits& hits) {
  const V view(input);
  if (view.block == nullptr) return;
  for (const Node& child : view.block->children) {
    if (!has(dropped_keys(), bare(child))) continue;
    Hit& hit = hits.at(child);
    const std::string value = to_lower(text_of(&child));
    if (bare(child) == "sharding_strategy" && value != "full_shard" && value != "1") {
      hit.severity = Severity::kWarning;
      hit.detail = "The strategy " + quoted(text_of(&child)) + " does not apply: the run shards fully.";
    }
  }
}

void prefix(const Input& input, Hits& hits) {
  const V view(input);
  if (view.block == nullptr) return;
  for (const Node& child : view.block->children) {
    if (child.name.rfind("fsdp_", 0) != 0 || child.name == "fsdp_version") continue;
    hits.at(child, "", "Write " + quote_input(bare(child), 60) + ", and drop the prefix from the other keys too.");
    return;
  }
}

void fsdp_list(const Input& input, Hits& hits) {
  const Node* list = input.root().find("fsdp");
  if (is_set(list)) hits.at(*list);
}

void fsdp1(const Input& input, Hits& hits) {
  const V view(input);
  if (view.block != nullptr && view.version() != 2) hits.at(*view.block);
}

void reshard(const Input& input, Hits& hits) {
  const Node* node = V(input).setting("reshard_after_forward");
  if (is_set(node) && !is_true(node) && !is_false(node)) hits.at(*node, quoted(text_of(node)) + " is no boolean.");
}

void wrap_list(const Input& input, Hits& hits) {
  const Node* node = V(input).setting("transformer_layer_cls_to_wrap");
  if (node != nullptr && node->is_list())
    hits.at(*node, "", "transformer_layer_cls_to_wrap: " + quote_input(join(words_of(node), ","), 200));
}

void state_dict(const Input& input, Hits& hits) {
  for (const char* name : {"state_dict_type", "final_state_dict_type"}) {
    bad_value([name](const Input& in) { return V(in).setting(name); },
              {"SHARDED_STATE_DICT", "FULL_STATE_DICT", "LOCAL_STATE_DICT"})(input, hits);
  }
}

void size_wrap(const Input& input, Hits& hits) {
  const V view(input);
  const Node* policy = view.setting("auto_wrap_policy");
  if (text_of(policy) == "SIZE_BASED_WRAP" && !is_set(view.setting("min_num_params"))) hits.at(*policy);
}

void pin_memory(const Input& input, Hits& hits) {
  const V view(input);
  const Node* pin = view.setting("cpu_offload_pin_memory");
  if (is_false(pin) && (view.version() != 2 || !is_true(view.setting("offload_params")))) hits.at(*pin);
}

void mxfp4(const Input& input, Hits& hits) {
  const V view(input);
  const Node* ram = view.setting("cpu_ram_efficient_loading");
  if (is_true(ram) && text_of(view.top("model_quantization_config")) == "Mxfp4Config") hits.at(*ram);
}

void fp8_checkpointing(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.setting("activation_checkpointing");
  if (is_true(view.top("fp8")) && is_true(node)) hits.at(*node);
}

}  // namespace

Rules axolotl_config_rules() {
  return {
      {"axolotl-unknown-fsdp-key", Severity::kWarning, kAxolotlYaml, unknown_key},
      {"axolotl-dropped-fsdp1-key", Severity::kInfo, kAxolotlYaml, dropped_key},
      {"axolotl-fsdp-prefix-deprecated", Severity::kWarning, kAxolotlYaml, prefix},
      {"axolotl-fsdp-list-deprecated", Severity::kWarning, kAxolotlYaml, fsdp_list},
      {"axolotl-fsdp1-deprecated", Severity::kWarning, kAxolotlYaml, fsdp1},
      {"axolotl-reshard-not-bool", Severity::kError, kAxolotlYaml, reshard},
      {"axolotl-wrap-policy-invalid", Severity::kError, kAxolotlYaml,
       bad_value([](const Input& input) { return V(input).setting("auto_wrap_policy"); },
                 {"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP"})},
      {"axolotl-wrap-class-list", Severity::kError, kAxolotlYaml, wrap_list},
      {"axolotl-state-dict-type-invalid", Severity::kError, kAxolotlYaml, state_dict},
      {"axolotl-size-wrap-needs-min-num-params", Severity::kError, kAxolotlYaml, size_wrap},
      {"axolotl-pin-memory-needs-fsdp2-offload", Severity::kError, kAxolotlYaml, pin_memory},
      {"axolotl-mxfp4-ram-efficient", Severity::kError, kAxolotlYaml, mxfp4},
      {"axolotl-fp8-activation-checkpointing", Severity::kWarning, kAxolotlYaml, fp8_checkpointing},
  };
}

}  // namespace fx::knowledge
