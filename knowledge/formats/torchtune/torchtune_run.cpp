// The run of a torchtune recipe's yaml.
#include "base/text.h"
#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {
namespace {

// A model builder with "lora" in its name has its settings beside it.
void read_adapter(RunReader& reader) {
  const auto at = [&](std::string_view path) { return reader.input.root().at(path); };
  EffectiveLora& lora = reader.run.lora;
  const Node* component = at("model._component_");
  const std::string builder = text_of(component);
  if (!contains(builder, "lora_")) return;
  reader.from("lora.kind", component);
  lora.kind = contains(builder, "qlora_") ? "qlora" : "lora";
  reader.integer("lora.rank", lora.rank, at("model.lora_rank"));
  reader.number("lora.alpha", lora.alpha, at("model.lora_alpha"));
  lora.dropout = 0.0;
  reader.number("lora.dropout", lora.dropout, at("model.lora_dropout"));
  reader.lora_targets(at("model.lora_attn_modules"));
  if (lora.targets) lora.targets = replace_all(*lora.targets, "output_proj", "o_proj");
  if (is_true(reader.from("lora.targets", at("model.apply_lora_to_mlp"))))
    lora.targets = (lora.targets ? *lora.targets + "," : "") + "gate_proj,up_proj,down_proj";
}

}  // namespace

void read_torchtune_run(RunReader& reader) {
  const auto top = [&](std::string_view name) { return reader.input.root().find(name); };
  const auto at = [&](std::string_view path) { return reader.input.root().at(path); };
  Effective& run = reader.run;
  run.strategy =
      integer_of(reader.from("strategy", top("data_parallel_replicate_dim"))).value_or(1) > 1 ? "hsdp" : "fsdp2";
  run.fsdp_version = 2;
  run.reshard_after_forward = !is_false(reader.from("reshard_after_forward", top("fsdp_reshard_after_forward")));
  reader.axis("dp_replicate", run.mesh.dp_replicate, top("data_parallel_replicate_dim"));
  reader.axis("dp_shard", run.mesh.dp_shard, top("data_parallel_shard_dim"));
  reader.axis("tp", run.mesh.tp, top("tensor_parallel_dim"));
  reader.axis("cp", run.mesh.cp, top("context_parallel_dim"));
  reader.dtype("precision", run.precision, top("dtype"));
  run.cpu_offload = is_true(reader.from("cpu_offload", top("fsdp_cpu_offload")));
  run.activation_checkpointing =
      is_true(reader.from("activation_checkpointing", top("enable_activation_checkpointing"))) ? "full" : "none";
  run.wrap = "default";
  reader.flag("compile", run.compile, top("compile"));
  reader.integer("micro_batch", run.micro_batch, top("batch_size"));
  reader.integer("grad_accum", run.grad_accum, top("gradient_accumulation_steps"));
  reader.integer("seq_len", run.seq_len, at("tokenizer.max_seq_len"));
  reader.flag("packing", run.packing, at("dataset.packed"));
  reader.number("epochs", run.epochs, top("epochs"));
  reader.integer("seed", run.seed, top("seed"));
  reader.text("output", run.output, top("output_dir"));
  reader.text("model", run.model, at("checkpointer.checkpoint_dir"));
  const std::string optimizer = text_of(reader.from("optimizer", at("optimizer._component_")));
  if (!optimizer.empty()) run.optimizer = to_lower(optimizer.substr(optimizer.rfind('.') + 1));
  if (run.optimizer == "adamw" && is_true(reader.from("optimizer", at("optimizer.fused"))))
    run.optimizer = "adamw-fused";
  reader.number("learning_rate", run.learning_rate, at("optimizer.lr"));
  reader.number("weight_decay", run.weight_decay, at("optimizer.weight_decay"));
  reader.integer("warmup_steps", run.warmup_steps, at("lr_scheduler.num_warmup_steps"));
  reader.number("max_grad_norm", run.max_grad_norm, top("clip_grad_norm"));
  read_adapter(reader);
}

}  // namespace fx::knowledge
