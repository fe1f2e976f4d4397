// transformers' TrainingArguments as JSON, and the fsdp_config inside them.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/formats/run_writer.h"

namespace fx::knowledge {
namespace {

template <class T>
void put(Json& out, const char* key, const std::optional<T>& value) {
  if (value) out[key] = *value;
}

void add_wrap(const Effective& run, Json& out) {
  const std::string wrap = run.wrap.value_or("default");
  out["auto_wrap_policy"] = wrap == "none" ? "NO_WRAP" : wrap == "size" ? "SIZE_BASED_WRAP" : "TRANSFORMER_BASED_WRAP";
  if (wrap == "size") {
    out["min_num_params"] = run.wrap_min_params.value_or(100000000);
  } else if (wrap != "none" && wrap != "default") {
    out["transformer_layer_cls_to_wrap"] = Json::array();
    for (const auto name : split(wrap, ',')) out["transformer_layer_cls_to_wrap"].push_back(std::string(name));
  }
}

// FSDP1 is chosen by words; they also carry what FSDP2 has keys for.
std::string fsdp_words(const Effective& run) {
  const bool reshard = run.reshard_after_forward.value_or(true);
  std::string out = run.strategy == "hsdp" ? (reshard ? "hybrid_shard" : "hybrid_shard_zero2")
                    : reshard              ? "full_shard"
                                           : "shard_grad_op";
  if (run.cpu_offload == true) out += " offload";
  if (run.wrap.value_or("default") != "none") out += " auto_wrap";
  return out;
}

void add_precision(const Effective& run, Json& out) {
  if (!run.precision) return;
  if (*run.precision == "bf16" || *run.precision == "fp16") out[*run.precision] = true;
}

void add_length(const Effective& run, Json& out) {
  if (run.steps) {
    out["max_steps"] = *run.steps;
  } else {
    put(out, "num_train_epochs", run.epochs);
  }
  if (const std::string schedule = transformers_schedule(run); !schedule.empty()) out["lr_scheduler_type"] = schedule;
  put(out, "warmup_steps", run.warmup_steps);
  if (!run.warmup_steps) put(out, "warmup_ratio", run.warmup_ratio);
}

void add_optimizer(const Effective& run, Json& out) {
  if (run.optimizer) out["optim"] = transformers_optimizer(*run.optimizer);
  put(out, "learning_rate", run.learning_rate);
  put(out, "weight_decay", run.weight_decay);
  put(out, "adam_beta1", run.adam_beta1);
  put(out, "adam_beta2", run.adam_beta2);
  put(out, "adam_epsilon", run.adam_epsilon);
  put(out, "max_grad_norm", run.max_grad_norm);
}

}  // namespace

Json write_fsdp_config(const Effective& run, WriteNotes&) {
  Json out = {{"version", run.fsdp_version.value_or(2)}};
  if (run.fsdp_version == 2) {
    out["reshard_after_forward"] = run.reshard_after_forward.value_or(true);
    out["cpu_offload"] = run.cpu_offload.value_or(false);
  }
  add_wrap(run, out);
  if (run.state_dict) out["state_dict_type"] = *run.state_dict == "full" ? "FULL_STATE_DICT" : "SHARDED_STATE_DICT";
  out["activation_checkpointing"] = run.activation_checkpointing.value_or("none") != "none";
  out["cpu_ram_efficient_loading"] = run.ram_efficient_loading.value_or(false);
  return out;
}

Json write_training_arguments(const Effective& run, WriteNotes& notes) {
  Json out = Json::object();
  out["output_dir"] = run.output.value_or("out");
  if (!run.output) notes.placeholder("output_dir", "out", "required; the source names no folder");
  put(out, "model_name_or_path", run.model);
  out["per_device_train_batch_size"] = run.micro_batch.value_or(8);
  put(out, "gradient_accumulation_steps", run.grad_accum);
  add_length(run, out);
  add_optimizer(run, out);
  add_precision(run, out);
  put(out, "torch_compile", run.compile);
  if (run.save_every) {
    out["save_strategy"] = "steps";
    out["save_steps"] = *run.save_every;
  }
  put(out, "save_total_limit", run.save_keep);
  put(out, "seed", run.seed);
  if (is_sharded(run)) {
    if (run.fsdp_version == 2) {
      out["fsdp"] = true;
    } else {
      out["fsdp"] = fsdp_words(run);
    }
    out["fsdp_config"] = write_fsdp_config(run, notes);
  } else if (run.activation_checkpointing) {
    out["gradient_checkpointing"] = *run.activation_checkpointing != "none";
  }
  return out;
}

}  // namespace fx::knowledge
