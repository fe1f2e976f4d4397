// Our own run spec.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/formats/run_writer.h"
#include "spec/run_spec.h"

namespace fx::knowledge {
namespace {

std::string required(const std::optional<std::string>& value, const char* key, const char* standin, WriteNotes& notes) {
  if (value) return *value;
  notes.placeholder(key, standin, "required; the source names none");
  return standin;
}

void set_batch(const Effective& run, RunSpec& spec) {
  spec.data.max_seq_len = run.seq_len.value_or(spec.data.max_seq_len);
  spec.data.packing = run.packing.value_or(false);
  const long long micro = run.micro_batch.value_or(1);
  spec.max_tokens_per_rank = micro * spec.data.max_seq_len;
  spec.global_batch_size = run.global_batch.value_or(micro * run.grad_accum.value_or(1) * spec.ranks);
  spec.steps = run.steps;
  if (!run.steps) spec.epochs = std::max(1LL, static_cast<long long>(std::ceil(run.epochs.value_or(1))));
}

void set_optimizer(const Effective& run, OptimizerSpec& spec) {
  spec.lr = run.learning_rate.value_or(spec.lr);
  spec.betas = {run.adam_beta1.value_or(spec.betas[0]), run.adam_beta2.value_or(spec.betas[1])};
  spec.eps = run.adam_epsilon.value_or(spec.eps);
  spec.weight_decay = run.weight_decay.value_or(spec.weight_decay);
  spec.schedule = run.schedule.value_or(spec.schedule);
  spec.warmup_steps = run.warmup_steps.value_or(0);
  spec.clip_grad = run.max_grad_norm.value_or(spec.clip_grad);
}

void set_fsdp(const Effective& run, RunSpec& spec) {
  FsdpSpec& fsdp = spec.fsdp;
  const bool copies = run.strategy == "ddp";
  fsdp.replicate = copies ? spec.ranks : run.mesh.dp_replicate.value_or(1);
  fsdp.shard = spec.ranks / fsdp.replicate;
  fsdp.reshard_after_forward.free_after_forward = run.reshard_after_forward.value_or(true);
  const long long group = run.reshard_group.value_or(0);
  if (group > 1 && group < fsdp.shard && fsdp.shard % group == 0) fsdp.reshard_after_forward.group_size = group;
  fsdp.param_dtype = run.precision.value_or("bf16");
  fsdp.reduce_dtype = run.reduce_precision.value_or("fp32");
  fsdp.cpu_offload = run.cpu_offload.value_or(false);
  const std::string recompute = run.activation_checkpointing.value_or("none");
  fsdp.activation_checkpointing = recompute == "none"        ? ActivationCheckpointing::kNone
                                  : recompute == "selective" ? ActivationCheckpointing::kSelective
                                                             : ActivationCheckpointing::kFull;
}

void set_lora(const Effective& run, RunSpec& spec) {
  if (!run.lora.kind) return;
  LoraSpec& lora = spec.lora.emplace();
  lora.rank = run.lora.rank.value_or(lora.rank);
  lora.alpha = run.lora.alpha.value_or(2 * static_cast<double>(lora.rank));
  lora.dropout = run.lora.dropout.value_or(0);
  lora.adapter = run.lora.adapter.value_or("");
  if (run.lora.targets) {
    lora.target_modules.clear();
    for (const auto name : split(*run.lora.targets, ',')) lora.target_modules.emplace_back(name);
  }
}

}  // namespace

Json write_run_spec(const Effective& run, WriteNotes& notes) {
  RunSpec spec;
  spec.model = required(run.model, "model", "path/to/model", notes);
  spec.data.path = required(run.data, "data.path", "path/to/data.jsonl", notes);
  spec.output = required(run.output, "output", "out", notes);
  spec.ranks = run.world_size.value_or(1);
  if (!run.world_size) notes.placeholder("ranks", "1", "the source does not say how many ranks start");
  set_batch(run, spec);
  set_optimizer(run, spec.optimizer);
  set_fsdp(run, spec);
  set_lora(run, spec);
  spec.checkpoint.every = run.save_every.value_or(0);
  spec.checkpoint.keep = run.save_keep.value_or(spec.checkpoint.keep);
  spec.seed = run.seed.value_or(spec.seed);
  Json out = to_json(spec);
  if (spec.name.empty()) out.erase("name");
  if (spec.lora && spec.lora->adapter.empty()) out["lora"].erase("adapter");
  return out;
}

}  // namespace fx::knowledge
