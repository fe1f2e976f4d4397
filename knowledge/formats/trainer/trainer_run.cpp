// The run of transformers' TrainingArguments, whatever they are written in.
#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/formats/run_reader.h"
#include "knowledge/formats/trainer/trainer.h"

namespace fx::knowledge {
namespace {

// Transformers 4 wraps only when told to; from 5 on the model's own layers are the default.
void read_wrap(const TrainerView& view, RunReader& reader) {
  Effective& run = reader.run;
  const Node* classes = view.setting("transformer_layer_cls_to_wrap");
  if (classes == nullptr) classes = view.argument("fsdp_transformer_layer_cls_to_wrap");
  const Node* smallest = view.setting("min_num_params");
  const bool by_option = view.has_option("auto_wrap");
  const bool old = !reader.input.context.at_least("transformers", "5").value_or(run.fsdp_version != 1);
  run.wrap = by_option || !old || view.options().empty() ? "default" : "none";
  reader.wrap(view.setting("auto_wrap_policy"), classes);
  reader.from("wrap_min_params", smallest);
  const long long least = integer_of(smallest).value_or(0);
  if (least > 0 && (run.wrap == "size" || (by_option && !is_set(classes)))) {
    run.wrap = "size";
    run.wrap_min_params = least;
  }
}

void read_fsdp(const TrainerView& view, RunReader& reader) {
  Effective& run = reader.run;
  const auto version = view.version();
  reader.from("strategy", view.fsdp());
  reader.from("fsdp_version", view.setting("version"));
  if (version == 1 || version == 2) run.fsdp_version = *version;
  run.strategy = view.has_option("no_shard")                                                ? "ddp"
                 : view.has_option("hybrid_shard") || view.has_option("hybrid_shard_zero2") ? "hsdp"
                 : run.fsdp_version ? "fsdp" + std::to_string(*run.fsdp_version)
                                    : "fsdp";
  const bool grad_op = view.has_option("shard_grad_op") || view.has_option("hybrid_shard_zero2");
  const Node* reshard = view.setting("reshard_after_forward");
  reader.from("reshard_after_forward", reshard);
  if (run.strategy != "ddp")
    run.reshard_after_forward = reshard != nullptr && version != 1 ? !is_false(reshard) : !grad_op;
  reader.from("cpu_offload", view.setting("cpu_offload"));
  run.cpu_offload = view.has_option("offload") || is_true(view.setting("cpu_offload"));
  run.ram_efficient_loading = is_true(reader.from("ram_efficient_loading", view.setting("cpu_ram_efficient_loading")));
  run.state_dict = "full";
  reader.state_dict(view.setting("state_dict_type"));
  read_wrap(view, reader);
}

void read_schedule(const TrainerView& view, RunReader& reader) {
  Effective& run = reader.run;
  run.epochs = 3.0;
  reader.number("epochs", run.epochs, view.argument("num_train_epochs"));
  reader.from("steps", view.argument("max_steps"));
  if (const auto steps = integer_of(view.argument("max_steps")); steps && *steps > 0) {
    run.steps = steps;
    run.epochs.reset();
  }
  run.schedule = "linear";
  reader.schedule(view.argument("lr_scheduler_type"));
  reader.integer("warmup_steps", run.warmup_steps, view.argument("warmup_steps"));
  reader.number("warmup_ratio", run.warmup_ratio, view.argument("warmup_ratio"));
  if (!run.warmup_ratio && !run.warmup_steps) run.warmup_steps = 0;
}

void read_optimizer(const TrainerView& view, RunReader& reader) {
  Effective& run = reader.run;
  run.learning_rate = 5e-5;
  run.weight_decay = 0.0;
  run.max_grad_norm = 1.0;
  reader.optimizer(view.argument("optim"));
  reader.number("learning_rate", run.learning_rate, view.argument("learning_rate"));
  reader.number("weight_decay", run.weight_decay, view.argument("weight_decay"));
  reader.number("adam_beta1", run.adam_beta1, view.argument("adam_beta1"));
  reader.number("adam_beta2", run.adam_beta2, view.argument("adam_beta2"));
  reader.number("adam_epsilon", run.adam_epsilon, view.argument("adam_epsilon"));
  reader.number("max_grad_norm", run.max_grad_norm, view.argument("max_grad_norm"));
}

// Flags of TRL's scripts, which make the adapter with PEFT.
void read_adapter(const TrainerView& view, RunReader& reader) {
  EffectiveLora& lora = reader.run.lora;
  if (!is_true(view.argument("use_peft"))) return;
  reader.from("lora.kind", view.argument("use_peft"));
  lora.kind = is_true(reader.from("lora.kind", view.argument("load_in_4bit"))) ? "qlora" : "lora";
  lora.rank = 16, lora.alpha = 32.0, lora.dropout = 0.05;  // TRL's defaults
  reader.integer("lora.rank", lora.rank, view.argument("lora_r"));
  reader.number("lora.alpha", lora.alpha, view.argument("lora_alpha"));
  reader.number("lora.dropout", lora.dropout, view.argument("lora_dropout"));
  reader.lora_targets(view.argument("lora_target_modules"));
}

void read_arguments(const TrainerView& view, RunReader& reader) {
  Effective& run = reader.run;
  if (!run.precision) run.precision = "fp32";
  reader.precision_switches(view.argument("bf16"), view.argument("fp16"));
  run.micro_batch = 8;
  run.grad_accum = 1;
  reader.integer("micro_batch", run.micro_batch, view.argument("per_device_train_batch_size"));
  reader.integer("grad_accum", run.grad_accum, view.argument("gradient_accumulation_steps"));
  reader.text("model", run.model, view.argument("model_name_or_path"));
  reader.text("output", run.output, view.argument("output_dir"));
  reader.flag("compile", run.compile, view.argument("torch_compile"));
  const std::string strategy = text_of(reader.from("save_every", view.argument("save_strategy")));
  if (strategy.empty() || strategy == "steps")
    reader.integer("save_every", run.save_every, view.argument("save_steps"));
  reader.integer("save_keep", run.save_keep, view.argument("save_total_limit"));
  reader.integer("seed", run.seed, view.argument("seed"));
  read_schedule(view, reader);
  read_optimizer(view, reader);
  read_adapter(view, reader);
}

long long ranks_of(const TrainerView& view, const Input& input) {
  if (view.launch() != nullptr && view.launch()->launcher == Launcher::kTorchrun) {
    const auto each = processes_per_node(*view.launch()), nodes = launch_nodes(input, *view.launch());
    if (each && nodes) return *each * *nodes;
  }
  return input.context.world_size().value_or(1);
}

}  // namespace

void read_trainer_run(RunReader& reader) {
  const TrainerView view(reader.input);
  Effective& run = reader.run;
  if (view.fsdp_on()) {
    read_fsdp(view, reader);
  } else if (is_set(reader.from("strategy", view.argument("deepspeed")))) {
    run.strategy = "deepspeed";
  } else if (!run.strategy && ranks_of(view, reader.input) > 1) {
    run.strategy = "ddp";  // what the Trainer does with several ranks and nothing else
  }
  const Node* inside = reader.from("activation_checkpointing", view.setting("activation_checkpointing"));
  const Node* outside = reader.from("activation_checkpointing", view.argument("gradient_checkpointing"));
  if (is_true(inside) || is_true(outside)) run.activation_checkpointing = "full";
  if (!run.activation_checkpointing) run.activation_checkpointing = "none";
  if (!reader.input.is(kFsdpConfigJson)) read_arguments(view, reader);
  if (view.fsdp_on() && run.precision) run.reduce_precision = run.precision;
}

}  // namespace fx::knowledge
