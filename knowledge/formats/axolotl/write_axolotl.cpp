// An axolotl yaml.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/formats/run_writer.h"

namespace fx::knowledge {
namespace {

template <class T>
void put(Json& out, const char* key, const std::optional<T>& value) {
  if (value) out[key] = *value;
}

Json fsdp_block(const Effective& run) {
  const bool v2 = run.fsdp_version == 2;
  Json out = Json::object();
  if (v2) out["reshard_after_forward"] = run.reshard_after_forward.value_or(true);
  out["offload_params"] = run.cpu_offload.value_or(false);
  out["state_dict_type"] =
      run.state_dict.value_or(v2 ? "sharded" : "full") == "full" ? "FULL_STATE_DICT" : "SHARDED_STATE_DICT";
  const std::string wrap = run.wrap.value_or("default");
  if (wrap != "none") out["auto_wrap_policy"] = wrap == "size" ? "SIZE_BASED_WRAP" : "TRANSFORMER_BASED_WRAP";
  if (wrap == "size") {
    out["min_num_params"] = run.wrap_min_params.value_or(100000000);
  } else if (wrap != "none" && wrap != "default") {
    out["transformer_layer_cls_to_wrap"] = wrap;
  }
  out["activation_checkpointing"] = run.activation_checkpointing.value_or("none") != "none";
  out["cpu_ram_efficient_loading"] = run.ram_efficient_loading.value_or(false);
  return out;
}

void add_data(const Effective& run, WriteNotes& notes, Json& out) {
  if (!run.model) notes.placeholder("base_model", "path/to/model", "required; the source names no model");
  out["base_model"] = run.model.value_or("path/to/model");
  if (!run.data) notes.placeholder("datasets[0].path", "path/to/data.jsonl", "required; the source names no data");
  notes.placeholder("datasets[0].type", "chat_template", "axolotl must know how a row becomes text: check it");
  out["datasets"] = Json::array({{{"path", run.data.value_or("path/to/data.jsonl")}, {"type", "chat_template"}}});
  out["output_dir"] = run.output.value_or("out");
  put(out, "sequence_len", run.seq_len);
  put(out, "sample_packing", run.packing);
}

void add_training(const Effective& run, WriteNotes& notes, Json& out) {
  out["micro_batch_size"] = run.micro_batch.value_or(1);
  out["gradient_accumulation_steps"] = run.grad_accum.value_or(1);
  if (run.steps) out["max_steps"] = *run.steps;
  if (!run.steps) out["num_epochs"] = run.epochs.value_or(1);
  out["optimizer"] = transformers_optimizer(run.optimizer.value_or("adamw-fused"));
  if (!run.learning_rate) notes.placeholder("learning_rate", "2e-05", "required; the source gives none");
  out["learning_rate"] = run.learning_rate.value_or(2e-5);
  const std::string schedule = transformers_schedule(run);
  out["lr_scheduler"] = schedule.empty() ? "cosine" : schedule;
  put(out, "warmup_steps", run.warmup_steps);
  if (!run.warmup_steps) put(out, "warmup_ratio", run.warmup_ratio);
  put(out, "weight_decay", run.weight_decay);
  put(out, "adam_beta1", run.adam_beta1);
  put(out, "adam_beta2", run.adam_beta2);
  put(out, "adam_epsilon", run.adam_epsilon);
  put(out, "max_grad_norm", run.max_grad_norm);
}

void add_adapter(const EffectiveLora& lora, WriteNotes& notes, Json& out) {
  if (!lora.kind) return;
  out["adapter"] = *lora.kind;
  if (lora.kind == "qlora") out["load_in_4bit"] = true;
  put(out, "lora_r", lora.rank);
  if (lora.alpha) {
    if (*lora.alpha != std::floor(*lora.alpha)) notes.because("lora.alpha", "axolotl takes whole numbers");
    out["lora_alpha"] = static_cast<long long>(std::llround(*lora.alpha));
  }
  put(out, "lora_dropout", lora.dropout);
  put(out, "lora_model_dir", lora.adapter);
  if (lora.targets == "all-linear") {
    out["lora_target_linear"] = true;
  } else if (lora.targets) {
    out["lora_target_modules"] = Json::array();
    for (const auto name : split(*lora.targets, ',')) out["lora_target_modules"].push_back(std::string(name));
  }
}

void add_mesh(const EffectiveMesh& mesh, Json& out) {
  put(out, "dp_replicate_size", mesh.dp_replicate);
  put(out, "dp_shard_size", mesh.dp_shard);
  put(out, "tensor_parallel_size", mesh.tp);
  put(out, "context_parallel_size", mesh.cp);
  put(out, "expert_parallel_size", mesh.ep);
  if (mesh.cp) out["attn_implementation"] = "flash_attention_2";  // ring attention is built on it
}

}  // namespace

Json write_axolotl(const Effective& run, WriteNotes& notes) {
  Json out = Json::object();
  add_data(run, notes, out);
  add_training(run, notes, out);
  add_adapter(run.lora, notes, out);
  const std::string precision = run.precision.value_or("");
  if (precision == "bf16" || precision == "fp16" || precision == "fp8") out[precision] = true;
  put(out, "torch_compile", run.compile);
  put(out, "save_steps", run.save_every);
  put(out, "save_total_limit", run.save_keep);
  put(out, "seed", run.seed);
  if (is_sharded(run)) {
    out["fsdp_version"] = run.fsdp_version.value_or(2);
    out["fsdp_config"] = fsdp_block(run);
    const EffectiveMesh& mesh = run.mesh;
    const bool part = mesh.dp_shard && mesh.dp_shard != run.world_size;
    if (run.fsdp_version == 2 && (part || mesh.dp_replicate || mesh.tp || mesh.cp || mesh.ep)) add_mesh(mesh, out);
  } else if (run.activation_checkpointing) {
    out["gradient_checkpointing"] = *run.activation_checkpointing != "none";
  }
  return out;
}

}  // namespace fx::knowledge
