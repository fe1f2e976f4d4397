// The run of an axolotl yaml.
#include "base/text.h"
#include "knowledge/formats/axolotl/axolotl.h"
#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {
namespace {

void read_fsdp(const AxolotlView& view, RunReader& reader) {
  Effective& run = reader.run;
  run.fsdp_version = view.version();
  reader.from("fsdp_version", view.version_node());
  reader.from("strategy", view.top("fsdp"));
  run.strategy = view.v2() && run.mesh.dp_replicate ? "hsdp" : view.v2() ? "fsdp2" : "fsdp1";
  run.reshard_after_forward = !is_false(reader.from("reshard_after_forward", view.setting("reshard_after_forward")));
  run.cpu_offload = is_true(reader.from("cpu_offload", view.setting("offload_params")));
  run.ram_efficient_loading = is_true(reader.from("ram_efficient_loading", view.setting("cpu_ram_efficient_loading")));
  run.state_dict = view.v2() ? "sharded" : "full";
  reader.state_dict(view.setting("state_dict_type"));
  run.wrap = "none";
  reader.wrap(view.setting("auto_wrap_policy"), view.setting("transformer_layer_cls_to_wrap"));
  if (run.wrap == "size") reader.integer("wrap_min_params", run.wrap_min_params, view.setting("min_num_params"));
}

void read_mesh(const AxolotlView& view, RunReader& reader) {
  EffectiveMesh& mesh = reader.run.mesh;
  reader.axis("dp_replicate", mesh.dp_replicate, view.top("dp_replicate_size"));
  reader.axis("dp_shard", mesh.dp_shard, view.top("dp_shard_size"));
  reader.axis("tp", mesh.tp, view.top("tensor_parallel_size"));
  reader.axis("cp", mesh.cp, view.top("context_parallel_size"));
  reader.axis("ep", mesh.ep, view.top("expert_parallel_size"));
  // Ranks that no written axis takes hold further copies.
  const auto world = reader.input.context.world_size();
  const long long taken = mesh.dp_shard.value_or(1) * mesh.tp.value_or(1) * mesh.cp.value_or(1);
  if (world && mesh.dp_shard && !mesh.dp_replicate && taken > 0 && taken < *world && *world % taken == 0)
    mesh.dp_replicate = *world / taken;
}

void read_batch(const AxolotlView& view, RunReader& reader) {
  Effective& run = reader.run;
  run.micro_batch = 1;
  run.grad_accum = 1;
  reader.integer("micro_batch", run.micro_batch, view.top("micro_batch_size"));
  reader.integer("grad_accum", run.grad_accum, view.top("gradient_accumulation_steps"));
  run.seq_len = 512;
  reader.integer("seq_len", run.seq_len, view.top("sequence_len"));
  reader.flag("packing", run.packing, view.top("sample_packing"));
  reader.from("steps", view.top("max_steps"));
  if (const auto steps = integer_of(view.top("max_steps")); steps && *steps > 0) run.steps = steps;
  run.epochs = 1.0;
  reader.number("epochs", run.epochs, view.top("num_epochs"));
  if (run.steps) run.epochs.reset();
}

void read_training(const AxolotlView& view, RunReader& reader) {
  Effective& run = reader.run;
  reader.text("model", run.model, view.top("base_model"));
  reader.text("output", run.output, view.top("output_dir"));
  const Node* sets = view.top("datasets");
  if (sets != nullptr && sets->is_list() && !sets->children.empty())
    reader.text("data", run.data, sets->children.front().find("path"));
  reader.optimizer(view.top("optimizer"));
  reader.number("learning_rate", run.learning_rate, view.top("learning_rate"));
  run.schedule = "cosine";
  reader.schedule(view.top("lr_scheduler"));
  reader.integer("warmup_steps", run.warmup_steps, view.top("warmup_steps"));
  reader.number("warmup_ratio", run.warmup_ratio, view.top("warmup_ratio"));
  run.weight_decay = 0.0;
  reader.number("weight_decay", run.weight_decay, view.top("weight_decay"));
  reader.number("adam_beta1", run.adam_beta1, view.top("adam_beta1"));
  reader.number("adam_beta2", run.adam_beta2, view.top("adam_beta2"));
  reader.number("adam_epsilon", run.adam_epsilon, view.top("adam_epsilon"));
  reader.number("max_grad_norm", run.max_grad_norm, view.top("max_grad_norm"));
  reader.flag("compile", run.compile, view.top("torch_compile"));
  reader.integer("save_every", run.save_every, view.top("save_steps"));
  reader.integer("save_keep", run.save_keep, view.top("save_total_limit"));
  reader.integer("seed", run.seed, view.top("seed"));
}

void read_adapter(const AxolotlView& view, RunReader& reader) {
  EffectiveLora& lora = reader.run.lora;
  if (!is_set(view.top("adapter"))) return;
  reader.text("lora.kind", lora.kind, view.top("adapter"));
  reader.integer("lora.rank", lora.rank, view.top("lora_r"));
  reader.number("lora.alpha", lora.alpha, view.top("lora_alpha"));
  lora.dropout = 0.0;
  reader.number("lora.dropout", lora.dropout, view.top("lora_dropout"));
  reader.lora_targets(view.top("lora_target_modules"));
  if (is_true(reader.from("lora.targets", view.top("lora_target_linear")))) lora.targets = "all-linear";
  reader.text("lora.adapter", lora.adapter, view.top("lora_model_dir"));
}

}  // namespace

void read_axolotl_run(RunReader& reader) {
  const AxolotlView view(reader.input);
  Effective& run = reader.run;
  read_mesh(view, reader);
  if (view.fsdp_on()) {
    read_fsdp(view, reader);
  } else if (is_set(reader.from("strategy", view.top("deepspeed")))) {
    run.strategy = "deepspeed";
  }
  reader.precision_switches(view.top("bf16"), view.top("fp16"));
  if (is_true(reader.from("precision", view.top("fp8")))) run.precision = "fp8";
  if (view.fsdp_on() && run.precision) run.reduce_precision = run.precision == "fp8" ? "bf16" : *run.precision;
  const Node* inside = reader.from("activation_checkpointing", view.setting("activation_checkpointing"));
  const Node* outside = reader.from("activation_checkpointing", view.top("gradient_checkpointing"));
  run.activation_checkpointing = is_true(inside) || (is_set(outside) && !is_false(outside)) ? "full" : "none";
  read_batch(view, reader);
  read_training(view, reader);
  read_adapter(view, reader);
}

}  // namespace fx::knowledge
