// DeepSpeed ZeRO JSON: what it says, and what FSDP has no word for.
#include "base/text.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

const Node* zero(const Input& input, const std::string& path) {
  return input.root().at("zero_optimization" + (path.empty() ? "" : "." + path));
}
long long stage(const Input& input) {
  return integer_of(zero(input, "stage")).value_or(0);
}

bool on_device(const Node* offload) {
  if (offload == nullptr) return false;
  const std::string device = to_lower(text_of(offload->find("device")));
  return device == "cpu" || device == "nvme" || (device.empty() && !offload->is_empty());
}

void translate(const Input& input, Hits& hits) {
  const Node* node = zero(input, "");
  if (node == nullptr) return;
  static const char* const words[] = {
      "DDP (no sharding)", "the closest is SHARD_GRAD_OP / reshard_after_forward: false",
      "SHARD_GRAD_OP / reshard_after_forward: false", "FULL_SHARD / reshard_after_forward: true"};
  const long long number = stage(input);
  if (number < 0 || number > 3) return;
  hits.at(*node, "ZeRO stage " + std::to_string(number) + " in FSDP terms: " + words[number] + ".");
}

void no_equivalent(const Input& input, Hits& hits) {
  const Node* block = zero(input, "");
  if (block == nullptr) return;
  const Node* optimizer = zero(input, "offload_optimizer");
  const Node* param = zero(input, "offload_param");
  if (stage(input) == 1 && zero(input, "stage") != nullptr)
    hits.at(*zero(input, "stage"), "FSDP cannot shard the optimizer state alone.");
  if (on_device(optimizer) && !on_device(param)) hits.at(*optimizer, "Only the optimizer is offloaded.");
  for (const Node* offload : {optimizer, param}) {
    const Node* device = offload == nullptr ? nullptr : offload->find("device");
    if (to_lower(text_of(device)) == "nvme") hits.at(*device, "FSDP does not offload to NVMe.");
  }
  for (const Node& child : block->children) {
    if (child.name.rfind("zero_quantized_", 0) == 0 && !is_false(&child))
      hits.at(child, "FSDP has no quantized collectives.");
  }
}

void both_precisions(const Input& input, Hits& hits) {
  const Node* half = input.root().at("fp16.enabled");
  const Node* brain = input.root().at("bf16.enabled");
  if (is_true(half) && is_true(brain)) hits.at(*half);
}

void offload_param_stage(const Input& input, Hits& hits) {
  const Node* param = zero(input, "offload_param");
  if (on_device(param) && stage(input) < 3) hits.at(*param);
}

void batch_size(const Input& input, Hits& hits) {
  const Node* node = input.root().find("train_batch_size");
  const auto total = integer_of(node), micro = integer_of(input.root().find("train_micro_batch_size_per_gpu"));
  const auto steps = integer_of(input.root().find("gradient_accumulation_steps"));
  const auto world = input.context.world_size();
  if (!total || !micro || !steps || !world || *micro > 1000000 || *steps > 1000000 || *world > 1000000) return;
  const long long product = *micro * *steps * *world;
  if (product == *total) return;
  hits.at(*node,
          std::to_string(*micro) + " x " + std::to_string(*steps) + " x " + std::to_string(*world) +
              " ranks = " + std::to_string(product) + ", not " + std::to_string(*total) + ".",
          "train_batch_size: " + std::to_string(product) + ", or \"auto\"");
}

void partial_offload(const Input& input, Hits& hits) {
  const Node* ratio = zero(input, "offload_optimizer.ratio");
  if (number_of(ratio).value_or(1) < 1 && stage(input) < 3) hits.at(*ratio);
}

}  // namespace

Rules deepspeed_rules() {
  return {
      {"deepspeed-translate", Severity::kInfo, kDeepspeedJson, translate},
      {"deepspeed-no-fsdp-equivalent", Severity::kWarning, kDeepspeedJson, no_equivalent},
      {"deepspeed-fp16-bf16-both", Severity::kError, kDeepspeedJson, both_precisions},
      {"deepspeed-offload-param-needs-stage3", Severity::kWarning, kDeepspeedJson, offload_param_stage},
      {"deepspeed-batch-size-inconsistent", Severity::kError, kDeepspeedJson, batch_size},
      {"deepspeed-partial-offload-stage", Severity::kError, kDeepspeedJson, partial_offload},
  };
}

}  // namespace fx::knowledge
