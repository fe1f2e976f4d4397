// The run of our own run spec. Its parser fills every default; a spec with mistakes describes no run.
#include "knowledge/formats/run_reader.h"
#include "spec/run_spec.h"

namespace fx::knowledge {
namespace {

void read_sharding(const RunSpec& spec, RunReader& reader) {
  const auto at = [&](std::string_view field, std::string_view path) {
    reader.from(field, reader.input.root().at(path));
  };
  Effective& run = reader.run;
  const FsdpSpec& fsdp = spec.fsdp;
  at("world_size", "ranks");
  run.world_size = spec.ranks;
  at("strategy", "fsdp.replicate");
  run.strategy = spec.ranks <= 1 ? "none" : fsdp.shard <= 1 ? "ddp" : fsdp.replicate > 1 ? "hsdp" : "fsdp2";
  if (run.strategy == "fsdp2" || run.strategy == "hsdp") run.fsdp_version = 2;
  reader.axis("dp_replicate", run.mesh.dp_replicate, reader.input.root().at("fsdp.replicate"), fsdp.replicate);
  reader.axis("dp_shard", run.mesh.dp_shard, reader.input.root().at("fsdp.shard"), fsdp.shard);
  at("reshard_after_forward", "fsdp.reshard_after_forward");
  run.reshard_after_forward = fsdp.reshard_after_forward.free_after_forward;
  if (fsdp.reshard_after_forward.group_size > 0) {
    at("reshard_group", "fsdp.reshard_after_forward");
    run.reshard_group = fsdp.reshard_after_forward.group_size;
  }
  at("precision", "fsdp.param_dtype");
  run.precision = fsdp.param_dtype;
  at("reduce_precision", "fsdp.reduce_dtype");
  run.reduce_precision = fsdp.reduce_dtype;
  at("cpu_offload", "fsdp.cpu_offload");
  run.cpu_offload = fsdp.cpu_offload;
  at("activation_checkpointing", "fsdp.activation_checkpointing");
  using A = ActivationCheckpointing;
  run.activation_checkpointing = fsdp.activation_checkpointing == A::kFull        ? "full"
                                 : fsdp.activation_checkpointing == A::kSelective ? "selective"
                                                                                  : "none";
  run.ram_efficient_loading = true;
  run.state_dict = "sharded";
  run.wrap = "default";
}

void read_training(const RunSpec& spec, RunReader& reader) {
  const auto at = [&](std::string_view field, std::string_view path) {
    reader.from(field, reader.input.root().at(path));
  };
  Effective& run = reader.run;
  at("model", "model");
  run.model = spec.model;
  at("data", "data.path");
  run.data = spec.data.path;
  at("output", "output");
  run.output = spec.output;
  at("seq_len", "data.max_seq_len");
  run.seq_len = spec.data.max_seq_len;
  at("packing", "data.packing");
  run.packing = spec.data.packing;
  at("micro_batch", "max_tokens_per_rank");
  run.micro_batch = spec.packs_per_micro_batch();
  at("global_batch", "global_batch_size");
  run.global_batch = spec.global_batch_size;
  at("steps", "steps");
  run.steps = spec.steps;
  at("epochs", "epochs");
  if (spec.epochs) run.epochs = static_cast<double>(*spec.epochs);
  at("seed", "seed");
  run.seed = spec.seed;
  at("save_every", "checkpoint.every");
  at("save_keep", "checkpoint.keep");
  if (spec.checkpoint.every > 0) {
    run.save_every = spec.checkpoint.every;
    run.save_keep = spec.checkpoint.keep;
  }
}

void read_optimizer(const OptimizerSpec& spec, RunReader& reader) {
  const auto at = [&](std::string_view field, const std::string& key) {
    reader.from(field, reader.input.root().at("optimizer." + key));
  };
  Effective& run = reader.run;
  run.optimizer = "adamw";
  at("learning_rate", "lr");
  run.learning_rate = spec.lr;
  at("adam_beta1", "betas");
  at("adam_beta2", "betas");
  run.adam_beta1 = spec.betas[0];
  run.adam_beta2 = spec.betas[1];
  at("adam_epsilon", "eps");
  run.adam_epsilon = spec.eps;
  at("weight_decay", "weight_decay");
  run.weight_decay = spec.weight_decay;
  at("schedule", "schedule");
  run.schedule = spec.schedule;
  at("warmup_steps", "warmup_steps");
  run.warmup_steps = spec.warmup_steps;
  at("max_grad_norm", "clip_grad");
  run.max_grad_norm = spec.clip_grad;
}

void read_lora(const LoraSpec& spec, RunReader& reader) {
  const auto at = [&](const std::string& field, const std::string& path) {
    return reader.from("lora." + field, reader.input.root().at(path));
  };
  EffectiveLora& lora = reader.run.lora;
  at("kind", "lora");
  lora.kind = "lora";
  at("rank", "lora.rank");
  lora.rank = spec.rank;
  at("alpha", "lora.alpha");
  lora.alpha = spec.alpha;
  at("dropout", "lora.dropout");
  lora.dropout = spec.dropout;
  lora.targets = "all-linear";
  reader.lora_targets(reader.input.root().at("lora.target_modules"));
  reader.text("lora.adapter", lora.adapter, reader.input.root().at("lora.adapter"));
}

}  // namespace

void read_run_spec_run(RunReader& reader) {
  const auto parsed = parse_run_spec_text(reader.input.text);
  if (!parsed) return;
  read_sharding(parsed->spec, reader);
  read_training(parsed->spec, reader);
  read_optimizer(parsed->spec.optimizer, reader);
  if (parsed->spec.lora) read_lora(*parsed->spec.lora, reader);
}

}  // namespace fx::knowledge
