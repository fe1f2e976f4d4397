// axolotl's optimizer, quantization and mesh against its FSDP settings.
#include "base/text.h"
#include "knowledge/formats/axolotl/axolotl.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = AxolotlView;

void fsdp2_8bit(const Input& input, Hits& hits) {
  const V view(input);
  if (view.v2() && view.bnb_8bit_optimizer()) hits.at(*view.top("optimizer"));
}

void fsdp1_offload_8bit(const Input& input, Hits& hits) {
  const V view(input);
  const Node* optimizer = view.top("optimizer");
  if (view.v1() && contains(text_of(optimizer), "8bit") && is_true(view.setting("offload_params"))) hits.at(*optimizer);
}

void torchao_save(const Input& input, Hits& hits) {
  const V view(input);
  const Node* optimizer = view.top("optimizer");
  const std::string name = text_of(optimizer);
  const bool low_bit = name == "adamw_torch_8bit" || name == "adamw_torch_4bit" || contains(name, "ao_adamw");
  if (!view.v1() || !low_bit || is_true(view.top("save_only_model")) || is_true(view.setting("offload_params"))) return;
  if (text_of(view.setting("state_dict_type")) == "FULL_STATE_DICT") hits.at(*optimizer);
}

void torch_too_old(const Input& input, Hits& hits) {
  const V view(input);
  if (view.version() == 2 && view.version_node() != nullptr && input.context.known_below("torch", "2.7"))
    hits.at(*view.version_node());
}

void quant_rl(const Input& input, Hits& hits) {
  const V view(input);
  const std::string rl = text_of(view.top("rl"));
  if (!view.v2() || (rl != "dpo" && rl != "kto" && rl != "orpo" && rl != "ipo")) return;
  for (const char* name : {"load_in_4bit", "load_in_8bit"}) {
    if (is_true(view.top(name))) hits.at(*view.top(name));
  }
}

void muon(const Input& input, Hits& hits) {
  const V view(input);
  const Node* optimizer = view.top("optimizer");
  if (text_of(optimizer) == "muon" && (view.v1() || is_set(view.top("deepspeed")))) hits.at(*optimizer);
}

void fp8_allgather(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.top("fp8_enable_fsdp_float8_all_gather");
  if (is_true(node) && integer_of(view.top("fsdp_version")) != 2) hits.at(*node);
}

void fp32_norms(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.top("fp32_norms");
  if (is_true(node) && (view.block == nullptr || view.version() != 2)) hits.at(*node);
}

void lora_kernels(const Input& input, Hits& hits) {
  const V view(input);
  if (!view.v1() || input.context.world_size().value_or(2) <= 1) return;
  for (const Node& child : view.root.children) {
    const bool kernel = child.name == "lora_mlp_kernel" || child.name == "lora_qkv_kernel" ||
                        child.name == "lora_o_kernel" || child.name == "lora_embedding_kernel";
    if (!kernel || !is_true(&child)) continue;
    hits.at(child);
    return;
  }
}

void relora(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.top("relora") != nullptr ? view.top("relora") : view.top("relora_steps");
  if (view.fsdp_on() && is_set(node) && !is_false(node)) hits.at(*node);
}

void deepspeed(const Input& input, Hits& hits) {
  const V view(input);
  if (view.fsdp_on() && is_set(view.top("deepspeed"))) hits.at(*view.top("deepspeed"));
}

long long size(const V& view, std::string_view name) {
  return integer_of(view.top(name)).value_or(1);
}
long long context_size(const V& view) {
  return view.top("context_parallel_size") != nullptr ? size(view, "context_parallel_size")
                                                      : size(view, "sequence_parallel_degree");
}

void shard_without_fsdp(const Input& input, Hits& hits) {
  const V view(input);
  if (size(view, "dp_shard_size") > 1 && view.block == nullptr) hits.at(*view.top("dp_shard_size"));
}

void world_mismatch(const Input& input, Hits& hits) {
  const V view(input);
  const auto world = input.context.world_size();
  const Node* first = nullptr;
  for (const char* name : {"tensor_parallel_size", "context_parallel_size", "dp_shard_size", "dp_replicate_size"}) {
    if (first == nullptr && is_set(view.top(name))) first = view.top(name);
  }
  if (!world || first == nullptr) return;
  const long long tp = size(view, "tensor_parallel_size"), cp = context_size(view), shard = size(view, "dp_shard_size");
  const long long replicate = size(view, "dp_replicate_size");
  for (const long long n : {tp, cp, shard, replicate}) {
    if (n <= 0 || n > 100000) return;
  }
  const long long product = tp * cp * shard * replicate;
  const bool free_shard = !is_set(view.top("dp_shard_size")), free_replicate = !is_set(view.top("dp_replicate_size"));
  const bool fits = free_shard || free_replicate ? *world % product == 0 : product == *world;
  if (fits) return;
  hits.at(*first, "tensor " + std::to_string(tp) + " x context " + std::to_string(cp) + " x shard " +
                      std::to_string(shard) + " x replicate " + std::to_string(replicate) + " = " +
                      std::to_string(product) + " does not fill " + std::to_string(*world) + " GPUs.");
}

void cp_attention(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.top("context_parallel_size");
  const std::string attention = text_of(view.top("attn_implementation"));
  if (size(view, "context_parallel_size") <= 1 || is_true(view.top("flash_attention"))) return;
  if (attention != "flash_attention_2" && attention != "flash_attention_3" && !contains(attention, "flash-attn"))
    hits.at(*node);
}

void cp_packing(const Input& input, Hits& hits) {
  const V view(input);
  if (size(view, "context_parallel_size") > 1 && is_true(view.top("sample_packing")) &&
      size(view, "micro_batch_size") > 1) {
    hits.at(*view.top("micro_batch_size"));
  }
}

void tp_8bit(const Input& input, Hits& hits) {
  const V view(input);
  if (size(view, "tensor_parallel_size") > 1 && view.bnb_8bit_optimizer()) hits.at(*view.top("optimizer"));
}

}  // namespace

Rules axolotl_run_rules() {
  return {
      {"axolotl-fsdp2-8bit-optimizer", Severity::kError, kAxolotlYaml, fsdp2_8bit},
      {"axolotl-fsdp1-offload-8bit-optimizer", Severity::kError, kAxolotlYaml, fsdp1_offload_8bit},
      {"axolotl-torchao8bit-fsdp1-save", Severity::kWarning, kAxolotlYaml, torchao_save},
      {"axolotl-fsdp2-torch-too-old", Severity::kError, kAxolotlYaml, torch_too_old},
      {"axolotl-fsdp2-quant-rl", Severity::kError, kAxolotlYaml, quant_rl},
      {"axolotl-muon-needs-fsdp2", Severity::kError, kAxolotlYaml, muon},
      {"axolotl-fp8-allgather-needs-fsdp2", Severity::kError, kAxolotlYaml, fp8_allgather},
      {"axolotl-fp32-norms-needs-fsdp2", Severity::kError, kAxolotlYaml, fp32_norms},
      {"axolotl-lora-kernels-fsdp1", Severity::kError, kAxolotlYaml, lora_kernels},
      {"axolotl-relora-fsdp", Severity::kError, kAxolotlYaml, relora},
      {"axolotl-deepspeed-and-fsdp", Severity::kError, kAxolotlYaml, deepspeed},
      {"axolotl-dp-shard-without-fsdp", Severity::kError, kAxolotlYaml, shard_without_fsdp},
      {"axolotl-parallel-world-mismatch", Severity::kError, kAxolotlYaml, world_mismatch},
      {"axolotl-cp-needs-flash-attention", Severity::kError, kAxolotlYaml, cp_attention},
      {"axolotl-cp-packing-micro-batch", Severity::kError, kAxolotlYaml, cp_packing},
      {"axolotl-tp-8bit-optimizer", Severity::kError, kAxolotlYaml, tp_8bit},
  };
}

}  // namespace fx::knowledge
