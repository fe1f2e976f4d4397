// The actor's run of verl's overrides.
#include "base/text.h"
#include "knowledge/formats/run_reader.h"
#include "knowledge/formats/verl/verl.h"

namespace fx::knowledge {
namespace {

// A rank above 0 turns adapters on.
void read_adapter(const VerlView& view, const std::string& model, RunReader& reader) {
  const auto rank = integer_of(view.get(model + ".lora_rank"));
  if (!rank || *rank <= 0) return;
  EffectiveLora& lora = reader.run.lora;
  reader.from("lora.kind", view.get(model + ".lora_rank"));
  lora.kind = "lora";
  reader.integer("lora.rank", lora.rank, view.get(model + ".lora_rank"));
  lora.alpha = 16.0;
  reader.number("lora.alpha", lora.alpha, view.get(model + ".lora_alpha"));
  lora.targets = "all-linear";
  if (const Node* targets = view.get(model + ".target_modules"); is_set(targets)) {
    Node plain = *targets;  // "[q_proj,v_proj]", as Hydra takes lists
    for (const char* mark : {"[", "]", "'", "\""}) plain.text = replace_all(plain.text, mark, "");
    reader.lora_targets(&plain);
  }
  reader.text("lora.adapter", lora.adapter, view.get(model + ".lora_adapter_path"));
}

}  // namespace

void read_verl_run(RunReader& reader) {
  const VerlView view = verl_view(reader.input);
  Effective& run = reader.run;
  const std::string actor = view.sft ? "" : "actor_rollout_ref.actor";
  const std::string fsdp = view.sft ? "model.fsdp_config" : verl_fsdp_path(actor);
  reader.integer("nodes", run.nodes, view.get("trainer.nnodes"));
  reader.integer("processes_per_node", run.processes_per_node, view.get("trainer.n_gpus_per_node"));
  for (const std::string& key : {actor + ".strategy", fsdp + ".strategy"}) reader.from("strategy", view.get(key));
  const std::string strategy = view.strategy(actor);
  run.strategy = strategy == "fsdp" ? "fsdp1" : strategy;
  if (strategy == "fsdp" || strategy == "fsdp2") run.fsdp_version = strategy == "fsdp2" ? 2 : 1;
  run.cpu_offload = is_true(reader.from("cpu_offload", view.get(fsdp + ".param_offload"))) ||
                    is_true(reader.from("cpu_offload", view.get(fsdp + ".offload_policy")));
  if (strategy == "fsdp2") {
    run.reshard_after_forward =
        !is_false(reader.from("reshard_after_forward", view.get(fsdp + ".reshard_after_forward")));
  }
  const auto size = integer_of(reader.from("mesh.dp_shard", view.get(fsdp + ".fsdp_size")));
  if (size && *size > 1) run.mesh.dp_shard = size;
  const std::string sp = view.sft ? "ulysses_sequence_parallel_size" : actor + ".ulysses_sequence_parallel_size";
  reader.axis("sp", run.mesh.sp, view.get(sp));
  run.precision = "bf16";
  run.reduce_precision = "fp32";
  reader.dtype("precision", run.precision, view.get(fsdp + ".dtype"));
  run.wrap = "default";
  if (view.sft) {
    reader.integer("global_batch", run.global_batch, view.get("data.train_batch_size"));
    reader.integer("micro_batch", run.micro_batch, view.get("data.micro_batch_size_per_gpu"));
    reader.text("model", run.model, view.get("model.partial_pretrain"));
  } else {
    // A weight update sees ppo_mini_batch_size prompts, each answered rollout.n times.
    const auto prompts = integer_of(reader.from("global_batch", view.get(actor + ".ppo_mini_batch_size")));
    const auto answers = integer_of(reader.from("global_batch", view.get("actor_rollout_ref.rollout.n"))).value_or(1);
    if (prompts && *prompts > 0 && *prompts < 1000000 && answers > 0 && answers < 1000000)
      run.global_batch = *prompts * answers;
    reader.integer("micro_batch", run.micro_batch, view.get(actor + ".ppo_micro_batch_size_per_gpu"));
    reader.text("model", run.model, view.get("actor_rollout_ref.model.path"));
    const Node* recompute = view.get("actor_rollout_ref.model.enable_gradient_checkpointing");
    run.activation_checkpointing = is_false(reader.from("activation_checkpointing", recompute)) ? "none" : "full";
    reader.number("learning_rate", run.learning_rate, view.get(actor + ".optim.lr"));
  }
  read_adapter(view, view.sft ? "model" : "actor_rollout_ref.model", reader);
  reader.text("data", run.data, view.get("data.train_files"));
  reader.number("epochs", run.epochs, view.get("trainer.total_epochs"));
  reader.integer("save_every", run.save_every, view.get("trainer.save_freq"));
}

}  // namespace fx::knowledge
