// The run of a LLaMA-Factory yaml: v0 is TrainingArguments and more, v1 has names of its own.
#include "base/text.h"
#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {
namespace {

const Node* top(const RunReader& reader, std::string_view name) {
  return reader.input.root().find(name);
}

void read_targets(RunReader& reader, const Node* targets) {
  reader.run.lora.targets = "all-linear";
  reader.from("lora.targets", targets);
  if (is_set(targets) && text_of(targets) != "all") reader.lora_targets(targets);
}

// LoRA is the project's default.
void read_adapter(RunReader& reader) {
  EffectiveLora& lora = reader.run.lora;
  const Node* type = reader.from("lora.kind", top(reader, "finetuning_type"));
  const Node* bits = reader.from("lora.kind", top(reader, "quantization_bit"));
  const std::string kind = is_set(type) ? text_of(type) : "lora";
  if (kind == "full" || kind == "freeze") return;
  lora.kind = kind == "lora" && is_set(bits) ? "qlora" : kind;
  lora.rank = 8;
  reader.integer("lora.rank", lora.rank, top(reader, "lora_rank"));
  lora.alpha = 2 * static_cast<double>(*lora.rank);
  reader.number("lora.alpha", lora.alpha, top(reader, "lora_alpha"));
  lora.dropout = 0.0;
  reader.number("lora.dropout", lora.dropout, top(reader, "lora_dropout"));
  read_targets(reader, top(reader, "lora_target"));
  reader.text("lora.adapter", lora.adapter, top(reader, "adapter_name_or_path"));
}

void read_v0(RunReader& reader) {
  Effective& run = reader.run;
  read_trainer_run(reader);
  reader.integer("seq_len", run.seq_len, top(reader, "cutoff_len"));
  reader.flag("packing", run.packing, top(reader, "packing"));
  reader.text("data", run.data, top(reader, "dataset"));
  // The project turns checkpointing on by itself.
  const Node* off = reader.from("activation_checkpointing", top(reader, "disable_gradient_checkpointing"));
  run.activation_checkpointing = is_true(off) ? "none" : "full";
  read_adapter(reader);
}

void read_v1_sharding(RunReader& reader) {
  Effective& run = reader.run;
  const Node& root = reader.input.root();
  const std::string plugin = text_of(reader.from("strategy", root.at("dist_config.name")));
  EffectiveMesh& mesh = run.mesh;
  reader.axis("dp_replicate", mesh.dp_replicate, top(reader, "mp_replicate_size"));
  reader.axis("dp_shard", mesh.dp_shard, top(reader, "mp_shard_size"));
  reader.axis("cp", mesh.cp, top(reader, "cp_size"));
  if (plugin == "fsdp2") {
    run.strategy = mesh.dp_replicate ? "hsdp" : "fsdp2";
    run.fsdp_version = 2;
    run.wrap = "default";
    run.reshard_after_forward =
        !is_false(reader.from("reshard_after_forward", root.at("dist_config.reshard_after_forward")));
    run.cpu_offload = is_true(reader.from("cpu_offload", root.at("dist_config.offload_params")));
  } else if (!plugin.empty()) {
    run.strategy = plugin;
  }
}

// Without a plugin all weights are trained. The plugin's own defaults (v1/plugins/model_plugins/peft.py).
void read_v1_adapter(RunReader& reader) {
  const Node& root = reader.input.root();
  EffectiveLora& lora = reader.run.lora;
  const std::string kind = text_of(reader.from("lora.kind", root.at("peft_config.name")));
  if (kind != "lora") return;
  const Node* bits = reader.from("lora.kind", root.at("quant_config.quantization_bit"));
  lora.kind = is_set(bits) ? "qlora" : kind;
  lora.rank = 8;
  reader.integer("lora.rank", lora.rank, root.at("peft_config.r"));
  lora.alpha = 16.0;
  reader.number("lora.alpha", lora.alpha, root.at("peft_config.lora_alpha"));
  lora.dropout = 0.05;
  reader.number("lora.dropout", lora.dropout, root.at("peft_config.lora_dropout"));
  read_targets(reader, root.at("peft_config.target_modules"));
  reader.text("lora.adapter", lora.adapter, root.at("peft_config.adapter_name_or_path"));
}

void read_v1(RunReader& reader) {
  Effective& run = reader.run;
  const Node& root = reader.input.root();
  read_v1_sharding(reader);
  read_v1_adapter(reader);
  if (is_true(reader.from("precision", top(reader, "bf16")))) run.precision = "bf16";
  reader.integer("micro_batch", run.micro_batch, top(reader, "micro_batch_size"));
  reader.integer("global_batch", run.global_batch, top(reader, "global_batch_size"));
  reader.integer("seq_len", run.seq_len, top(reader, "cutoff_len"));
  const Node* batching = reader.from("packing", top(reader, "batching_strategy"));
  if (is_set(batching)) run.packing = contains(batching->text, "padding_free");
  reader.number("epochs", run.epochs, top(reader, "num_train_epochs"));
  reader.from("steps", top(reader, "max_steps"));
  if (const auto steps = integer_of(top(reader, "max_steps")); steps && *steps > 0) {
    run.steps = steps;
    run.epochs.reset();
  }
  reader.text("model", run.model, top(reader, "model"));
  reader.text("data", run.data, top(reader, "train_dataset"));
  reader.text("output", run.output, top(reader, "output_dir"));
  reader.number("learning_rate", run.learning_rate, top(reader, "learning_rate"));
  reader.number("max_grad_norm", run.max_grad_norm, top(reader, "max_grad_norm"));
  reader.integer("save_every", run.save_every, top(reader, "save_steps"));
  reader.integer("seed", run.seed, top(reader, "seed"));
  const Node* recompute = top(reader, "enable_activation_checkpointing");
  if (recompute != nullptr)
    run.activation_checkpointing = is_true(reader.from("activation_checkpointing", recompute)) ? "full" : "none";
  reader.optimizer(root.at("optim_config.name"));
  reader.schedule(root.at("lr_scheduler_config.name"));
}

}  // namespace

void read_llamafactory_run(RunReader& reader) {
  const bool v1 = top(reader, "model_name_or_path") == nullptr && top(reader, "model") != nullptr;
  v1 ? read_v1(reader) : read_v0(reader);
}

}  // namespace fx::knowledge
