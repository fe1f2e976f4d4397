// The run of a torchtitan TOML, command line or Python config.
#include "base/text.h"
#include "knowledge/formats/run_reader.h"
#include "knowledge/formats/torchtitan/torchtitan.h"

namespace fx::knowledge {
namespace {

void read_sharding(const TitanView& view, RunReader& reader) {
  Effective& run = reader.run;
  EffectiveMesh& mesh = run.mesh;
  const long long replicate = view.size("data_parallel_replicate");
  const auto shard = view.shard();
  const bool one_shard = shard && *shard == 1 && view.size("context_parallel") <= 1;
  reader.from("strategy", view.degree("data_parallel_replicate"));
  run.strategy = one_shard ? (replicate > 1 ? "ddp" : "none") : replicate > 1 ? "hsdp" : "fsdp2";
  if (!one_shard) run.fsdp_version = 2;
  reader.axis("dp_replicate", mesh.dp_replicate, view.degree("data_parallel_replicate"), replicate);
  reader.axis("dp_shard", mesh.dp_shard, view.degree("data_parallel_shard"), shard.value_or(1));
  reader.axis("tp", mesh.tp, view.degree("tensor_parallel"));
  reader.axis("cp", mesh.cp, view.degree("context_parallel"));
  reader.axis("pp", mesh.pp, view.degree("pipeline_parallel"));
  reader.axis("ep", mesh.ep, view.degree("expert_parallel"));
  const Node* reshard = reader.from("reshard_after_forward", view.parallel("fsdp_reshard_after_forward"));
  const std::string policy = text_of(reshard);
  run.reshard_after_forward = policy == "always" || (policy != "never" && view.size("pipeline_parallel") <= 1);
  run.precision = "bf16";
  run.reduce_precision = "fp32";
  reader.dtype("precision", run.precision, view.get("training", "mixed_precision_param"));
  reader.dtype("reduce_precision", run.reduce_precision, view.get("training", "mixed_precision_reduce"));
  run.cpu_offload = is_true(reader.from("cpu_offload", view.get("training", "enable_cpu_offload")));
  run.activation_checkpointing = "selective";
  reader.text("activation_checkpointing", run.activation_checkpointing, view.get("activation_checkpoint", "mode"));
  run.wrap = "default";
  run.state_dict = "sharded";
  run.compile = is_true(reader.from("compile", view.get("compile", "enable")));
}

void read_training(const TitanView& view, RunReader& reader) {
  Effective& run = reader.run;
  reader.text("model", run.model, view.get("model", "hf_assets_path"));
  reader.text("output", run.output, view.get("job", "dump_folder"));
  run.micro_batch = 8;
  run.seq_len = 2048;
  run.steps = 10000;
  run.max_grad_norm = 1.0;
  reader.integer("micro_batch", run.micro_batch, view.get("training", "local_batch_size"));
  reader.integer("seq_len", run.seq_len, view.get("training", "seq_len"));
  const Node* global = reader.from("global_batch", view.get("training", "global_batch_size"));
  if (const auto size = integer_of(global); size && *size > 0) {
    run.global_batch = size;
  } else {
    run.grad_accum = 1;
  }
  reader.integer("steps", run.steps, view.get("training", "steps"));
  reader.number("max_grad_norm", run.max_grad_norm, view.get("training", "max_norm"));
  for (const char* section : {"training", "debug"}) reader.integer("seed", run.seed, view.get(section, "seed"));
  if (is_true(reader.from("save_every", view.get("checkpoint", "enable")))) {
    run.save_every = 500;
    run.save_keep = 10;
    reader.integer("save_every", run.save_every, view.get("checkpoint", "interval"));
    reader.integer("save_keep", run.save_keep, view.get("checkpoint", "keep_latest_k"));
  }
}

void read_optimizer(const TitanView& view, RunReader& reader) {
  Effective& run = reader.run;
  const std::string name = to_lower(text_of(reader.from("optimizer", view.get("optimizer", "name"))));
  const std::string kind = text_of(reader.from("optimizer", view.get("optimizer", "implementation")));
  run.optimizer = !name.empty() && name != "adamw" ? name : kind.empty() || kind == "fused" ? "adamw-fused" : "adamw";
  run.learning_rate = 8e-4;
  run.weight_decay = 0.1;
  run.adam_beta1 = 0.9;
  run.adam_beta2 = 0.95;
  run.adam_epsilon = 1e-8;
  reader.number("learning_rate", run.learning_rate, view.get("optimizer", "lr"));
  reader.number("weight_decay", run.weight_decay, view.get("optimizer", "weight_decay"));
  reader.number("adam_beta1", run.adam_beta1, view.get("optimizer", "beta1"));
  reader.number("adam_beta2", run.adam_beta2, view.get("optimizer", "beta2"));
  reader.number("adam_epsilon", run.adam_epsilon, view.get("optimizer", "eps"));
  run.warmup_steps = 200;
  run.schedule = "linear";
  reader.integer("warmup_steps", run.warmup_steps, view.get("lr_scheduler", "warmup_steps"));
  reader.schedule(view.get("lr_scheduler", "decay_type"));
  const Node* ratio = view.get("lr_scheduler", "decay_ratio");
  if (number_of(ratio) == 0.0) {  // no part of the steps decays
    reader.from("schedule", ratio);
    run.schedule = "constant";
  }
}

}  // namespace

void read_torchtitan_run(RunReader& reader) {
  const TitanView view(reader.input);
  reader.run.world_size = view.world();
  read_sharding(view, reader);
  read_training(view, reader);
  read_optimizer(view, reader);
}

}  // namespace fx::knowledge
