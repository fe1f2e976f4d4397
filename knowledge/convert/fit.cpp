#include "knowledge/convert/fit.h"

#include <algorithm>
#include <cmath>

#include "base/secret.h"
#include "base/text.h"

namespace fx::knowledge {
namespace {

bool holds(const std::vector<std::string_view>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Result<void> fit_version(Effective& run, const Target& target, const FitOptions& options, WriteNotes& notes) {
  const bool old_trainer = target.family == "trainer" && !options.trainer_reads_version;
  long long version = options.fsdp_version.value_or(static_cast<int>(run.fsdp_version.value_or(2)));
  if (options.fsdp_version == 1 && !target.fsdp1)
    return unsupported("fsdp_version", std::string(target.label) + " has FSDP2 only", "leave fsdp_version out, or 2");
  if (options.fsdp_version == 2 && old_trainer) {
    return unsupported("fsdp_version", "the Trainer of transformers 4 cannot choose FSDP2",
                       "write an accelerate configuration, or use transformers 5");
  }
  if (!target.fsdp1) version = 2;
  if (old_trainer) version = 1;
  if (options.fsdp_version) {
    notes.because("fsdp_version", "asked for");
  } else if (!target.fsdp1) {
    notes.because("fsdp_version", std::string(target.label) + " has FSDP2 only");
  } else if (!run.fsdp_version) {
    notes.because("fsdp_version", "the source leaves it open: FSDP2 is the one that is developed further");
  }
  run.fsdp_version = version;
  if (run.strategy != "hsdp") run.strategy = "fsdp" + std::to_string(version);
  return {};
}

// A hybrid strategy needs the number of copies where the target says it in a mesh.
void fit_hybrid(Effective& run, const Target& target, WriteNotes& notes) {
  if (run.strategy != "hsdp" || run.fsdp_version == 1) return;
  if (run.mesh.dp_replicate && target.hybrid_mesh) return;
  const std::string why =
      !target.hybrid_mesh ? reason_for(target, "mesh.dp_replicate")
      : run.nodes == 1    ? "on one machine a hybrid strategy is plain sharding"
                       : "a hybrid mesh needs the numbers of machines and ranks: give context.gpus and context.nodes";
  notes.because("strategy", why);
  notes.because("mesh.dp_replicate", why);
  notes.because("mesh.dp_shard", why);
  run.strategy = "fsdp2";
  run.mesh.dp_replicate.reset();
  run.mesh.dp_shard.reset();
}

Result<void> fit_strategy(Effective& run, const Target& target, const FitOptions& options, WriteNotes& notes) {
  const std::string from = run.strategy.value_or("");
  if (from == "zero1") {
    const std::string why = "FSDP cannot shard the optimizer state alone: it also shards gradients, like ZeRO 2";
    notes.because("strategy", why);
    run.reshard_after_forward = false;
  }
  if (from == "deepspeed") {
    notes.because("strategy", "the DeepSpeed settings are in another file: convert that one too; ZeRO 3 is assumed");
    run.reshard_after_forward = true;
  }
  const bool zero = from == "zero1" || from == "zero2" || from == "zero3" || from == "deepspeed";
  const bool open = from.empty() && options.fsdp_version;
  const bool fsdp = from.rfind("fsdp", 0) == 0 || from == "hsdp" || zero || open;
  if (from.empty() && !open) {
    run.strategy = "ddp";
    notes.because("strategy", "the source names no sharding: every rank holds the whole model");
    return {};
  }
  if (!fsdp) {
    if (from == "ddp" || from == "none") return {};
    return invalid_argument("text", "the strategy " + quote_input(from, 40) + " has no equivalent in FSDP",
                            "convert a configuration that trains with FSDP, DDP or ZeRO");
  }
  if (zero || open) run.strategy = "fsdp2";
  if (auto done = fit_version(run, target, options, notes); !done) return done.error();
  fit_hybrid(run, target, notes);
  if (!run.reshard_after_forward) run.reshard_after_forward = true;
  if (!run.wrap) {
    run.wrap = "default";
    notes.because("wrap", "FSDP must know what to shard together: the model's own layers");
  }
  return {};
}

constexpr long long kUsualRanks = 8;  // of one machine

// A run spec says how many ranks start; one rank would shard nothing.
void fit_ranks(Effective& run, const Target& target, WriteNotes& notes) {
  if (target.family != "run-spec" || run.world_size || !is_sharded(run)) return;
  notes.because("world_size", "the source does not say how many ranks start: put yours");
  run.world_size = kUsualRanks;
  run.mesh.dp_shard.reset();
}

// Axes that the target lacks go to data parallelism; the shards then follow from the ranks.
void fit_mesh(Effective& run, const Target& target, WriteNotes& notes) {
  EffectiveMesh& mesh = run.mesh;
  bool changed = false;
  for (auto [axis, size] : {std::pair<std::string_view, std::optional<long long>*>{"tp", &mesh.tp},
                            {"cp", &mesh.cp},
                            {"sp", &mesh.sp},
                            {"pp", &mesh.pp},
                            {"ep", &mesh.ep}}) {
    if (!*size || holds(target.axes, axis)) continue;
    size->reset();
    changed = changed || axis != "ep";
  }
  if (!is_sharded(run)) {
    if (changed) mesh = {};
    if (run.strategy == "ddp" && run.world_size.value_or(1) > 1 && !mesh.tp && !mesh.cp && !mesh.pp)
      mesh.dp_replicate = run.world_size;
    if (run.strategy == "ddp" && !run.world_size)
      notes.because("strategy", "copies on every rank need the number of ranks: give context.gpus and context.nodes");
    return;
  }
  const long long other = mesh.dp_replicate.value_or(1) * mesh.tp.value_or(1) * mesh.cp.value_or(1) *
                          mesh.sp.value_or(1) * mesh.pp.value_or(1);
  const long long world = run.world_size.value_or(0);
  const bool divides = world > 0 && other > 0 && world % other == 0;
  if ((changed || !mesh.dp_shard) && divides) {
    if (changed) notes.because("mesh.dp_shard", "the ranks of the axes that are gone shard the model");
    mesh.dp_shard = world / other > 1 ? std::optional<long long>(world / other) : std::nullopt;
  }
  if (run.fsdp_version == 1) mesh = {};  // FSDP1 has no mesh to write
  const bool incomplete = world == 0 && !mesh.dp_shard && other > 1 && target.family == "accelerate";
  if (!incomplete) return;
  for (const char* axis : {"mesh.dp_replicate", "mesh.tp", "mesh.cp", "mesh.sp"})
    notes.because(axis, "a mesh needs the number of ranks: give context.gpus and context.nodes");
  mesh = {};
  if (run.strategy == "hsdp") run.strategy = "fsdp2";
}

void fit_precision(Effective& run, const Target& target, WriteNotes& notes) {
  if (run.precision && !holds(target.precisions, *run.precision)) {
    const std::string why = std::string(target.label) + " cannot compute in " + *run.precision + " by this setting";
    notes.because("precision", why);
    run.precision = "bf16";
  }
  if (run.reduce_precision && !holds(target.precisions, *run.reduce_precision)) {
    notes.because("reduce_precision", std::string(target.label) + " cannot reduce in " + *run.reduce_precision);
    run.reduce_precision = "bf16";
  }
  if (run.strategy != "fsdp2" && run.strategy != "hsdp") return;
  if (run.state_dict == "local") {
    notes.because("state_dict", "FSDP2 has no local state dict");
    run.state_dict = "sharded";
  }
}

void fit_checkpointing(Effective& run, const Target& target, WriteNotes& notes) {
  auto& mode = run.activation_checkpointing;
  if (mode && target.family != "torchtitan" && *mode != "none" && *mode != "full") {
    notes.because("activation_checkpointing", std::string(target.label) + " recomputes whole layers or nothing");
    mode = "full";
  }
  if (mode == "memory_budget" && run.compile != true) mode = "full";
}

void fit_optimizer(Effective& run, const Target& target, WriteNotes& notes) {
  if (!run.optimizer) return;
  const bool titan = target.family == "torchtitan";
  const bool bits = contains(*run.optimizer, "8bit") && is_sharded(run);
  const bool plain = *run.optimizer == "adamw" || *run.optimizer == "adamw-fused";
  const bool known = target.adamw_only ? plain
                     : titan           ? plain || *run.optimizer == "adam"
                                       : !transformers_optimizer(*run.optimizer).empty();
  if (known && !bits) return;
  notes.because("optimizer", bits ? "bitsandbytes cannot step on sharded parameters"
                                  : std::string(target.label) + " does not have this optimizer");
  run.optimizer = "adamw";
}

void fit_length(Effective& run, const Target& target, WriteNotes& notes) {
  if (target.steps_only || target.family == "run-spec") {
    if (run.warmup_ratio && run.steps && !run.warmup_steps.value_or(0)) {
      run.warmup_steps = static_cast<long long>(std::ceil(*run.warmup_ratio * static_cast<double>(*run.steps)));
      notes.because("warmup_steps", "warmup_ratio times the steps");
    }
    run.warmup_ratio.reset();
  }
  if (target.whole_epochs && !run.steps && run.epochs && *run.epochs != std::floor(*run.epochs)) {
    notes.because("epochs", std::string(target.label) + " counts whole epochs");
    run.epochs = std::max(1.0, std::ceil(*run.epochs));
  }
  if (run.steps && run.warmup_steps && *run.warmup_steps > *run.steps) {
    notes.because("warmup_steps", "more warm-up steps than steps");
    run.warmup_steps = run.steps;
  }
  if (!run.schedule) return;
  const auto& list = target.schedules;
  static const std::vector<std::string_view> transformers = {
      "linear", "cosine", "constant", "cosine_with_restarts", "polynomial", "inverse_sqrt", "cosine_with_min_lr"};
  if (holds(list.empty() ? transformers : list, *run.schedule)) return;
  notes.because("schedule", std::string(target.label) + " does not have this schedule");
  run.schedule = "cosine";
}

// The engine has LoRA on the projections of blocks, and no quantized base.
void fit_adapter(Effective& run, const Target& target, WriteNotes& notes) {
  EffectiveLora& lora = run.lora;
  if (!lora.kind) return;
  if (!target.adapters) {
    lora = {};
    return;
  }
  if (target.family != "run-spec") return;
  if (lora.kind == "qlora") {
    notes.because("lora.kind", "the engine has no quantized base: the adapters stand beside unquantized weights");
    lora.kind = "lora";
  }
  if (lora.kind != "lora") {
    notes.because("lora.kind", "the engine has LoRA adapters only: all weights would be trained");
    lora = {};
    return;
  }
  if (!lora.targets || lora.targets == "all-linear") return;
  static constexpr std::string_view kKnown[] = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                "gate_proj", "up_proj", "down_proj"};
  std::vector<std::string> known;
  for (const auto name : split(*lora.targets, ',')) {
    if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) known.emplace_back(name);
  }
  const std::string kept = known.empty() ? "all-linear" : join(known, ",");
  if (kept == *lora.targets) return;
  notes.because("lora.targets", "the engine adapts the seven projections of a block only");
  lora.targets = kept;
}

// torchtitan accumulates whole micro-batches of all its data-parallel ranks.
void fit_batch(Effective& run, const Target& target, WriteNotes& notes) {
  if (target.family != "torchtitan" || !run.global_batch || !run.world_size) return;
  if (!run.micro_batch) run.micro_batch = 1;
  const EffectiveMesh& mesh = run.mesh;
  const long long other = mesh.tp.value_or(1) * mesh.cp.value_or(1) * mesh.pp.value_or(1);
  if (other <= 0 || *run.world_size < other || *run.world_size > 1000000 || *run.micro_batch > 1000000) return;
  const long long once = *run.micro_batch * (*run.world_size / other);
  if (once <= 0 || *run.global_batch <= 0 || *run.global_batch > 1000000000 || *run.global_batch % once == 0) return;
  notes.because("global_batch", "torchtitan needs a multiple of local_batch_size times the data-parallel ranks");
  run.global_batch = (*run.global_batch / once + 1) * once;
  run.grad_accum = *run.global_batch / once;
}

// torchtitan splits a sequence over tensor and, twice, over context parallel ranks.
void fit_seq_len(Effective& run, const Target& target, WriteNotes& notes) {
  const long long parts = run.mesh.tp.value_or(1) * 2 * run.mesh.cp.value_or(1);
  if (target.family != "torchtitan" || parts <= 2 || parts > 1000000) return;
  const long long length = run.seq_len.value_or(2048);
  if (length % parts == 0) return;
  notes.because("seq_len", "torchtitan needs a multiple of 2 x tensor x context parallel ranks");
  run.seq_len = std::max(parts, length / parts * parts);
}

void fit_saving(Effective& run, const Target& target, WriteNotes& notes) {
  if (run.save_every && *run.save_every <= 0) run.save_every.reset();
  if (run.save_keep && *run.save_keep <= 0) run.save_keep.reset();
  if (target.family == "torchtitan" && run.save_keep == 1) {
    notes.because("save_keep", "torchtitan keeps at least two checkpoints");
    run.save_keep = 2;
  }
}

void forget_secrets(Effective& run, WriteNotes& notes) {
  for (auto [field, value] : {std::pair<const char*, std::optional<std::string>*>{"model", &run.model},
                              {"data", &run.data},
                              {"output", &run.output},
                              {"lora.adapter", &run.lora.adapter},
                              {"lora.targets", &run.lora.targets},
                              {"wrap", &run.wrap}}) {
    if (!*value || find_secrets(**value).empty()) continue;
    notes.because(field, "it holds a secret, which is not copied");
    value->reset();
  }
}

}  // namespace

Result<void> fit_run(Effective& run, const Target& target, const FitOptions& options, WriteNotes& notes) {
  if (auto done = fit_strategy(run, target, options, notes); !done) return done.error();
  if (target.format == kFsdpConfigJson && !is_sharded(run))
    return unsupported("to", "fsdp_config can only describe FSDP, and this run shards nothing", "convert to trainer");
  fit_ranks(run, target, notes);
  fit_mesh(run, target, notes);
  fit_precision(run, target, notes);
  fit_checkpointing(run, target, notes);
  fit_optimizer(run, target, notes);
  fit_adapter(run, target, notes);
  fit_length(run, target, notes);
  fit_batch(run, target, notes);
  fit_seq_len(run, target, notes);
  fit_saving(run, target, notes);
  forget_secrets(run, notes);
  return {};
}

}  // namespace fx::knowledge
