// The trainer's run of slime, miles or Relax flags.
#include "knowledge/formats/run_reader.h"
#include "knowledge/formats/slime/slime.h"

namespace fx::knowledge {

void read_slime_run(RunReader& reader) {
  const SlimeView view = slime_view(reader.input);
  const auto given = [&](std::string_view field, std::string_view name) {
    return reader.from(field, view.flag(name)) != nullptr;
  };
  Effective& run = reader.run;
  const Node* backend = reader.from("strategy", view.flag("train_backend"));
  if (view.fsdp()) {
    run.strategy = "fsdp2";
    run.fsdp_version = 2;
    run.reshard_after_forward = !given("reshard_after_forward", "no_fsdp_reshard_after_forward");
    run.wrap = "default";
    run.reduce_precision = "fp32";
    reader.dtype("reduce_precision", run.reduce_precision, view.flag("fsdp_reduce_dtype"));
  } else if (is_set(backend)) {
    run.strategy = text_of(backend);
  }
  reader.integer("nodes", run.nodes, view.flag("actor_num_nodes"));
  reader.integer("processes_per_node", run.processes_per_node, view.flag("actor_num_gpus_per_node"));
  run.cpu_offload = given("cpu_offload", "fsdp_cpu_offload");
  const bool outer = given("activation_checkpointing", "gradient_checkpointing");
  const bool inner = given("activation_checkpointing", "fsdp_activation_checkpointing");
  run.activation_checkpointing = outer || inner ? "full" : "none";
  run.precision = given("precision", "fp16") ? "fp16" : "bf16";
  reader.dtype("precision", run.precision, view.flag("fsdp_param_dtype"));
  reader.integer("global_batch", run.global_batch, view.flag("global_batch_size"));
  reader.integer("micro_batch", run.micro_batch, view.flag("micro_batch_size"));
  reader.text("model", run.model, view.flag("hf_checkpoint"));
  reader.text("data", run.data, view.flag("prompt_data"));
  reader.text("output", run.output, view.flag("save"));
  reader.number("learning_rate", run.learning_rate, view.flag("lr"));
  reader.text("schedule", run.schedule, view.flag("lr_decay_style"));
  reader.number("weight_decay", run.weight_decay, view.flag("weight_decay"));
  reader.number("adam_beta1", run.adam_beta1, view.flag("adam_beta1"));
  reader.number("adam_beta2", run.adam_beta2, view.flag("adam_beta2"));
  reader.number("max_grad_norm", run.max_grad_norm, view.flag("clip_grad"));
  reader.integer("save_every", run.save_every, view.flag("save_interval"));
}

}  // namespace fx::knowledge
