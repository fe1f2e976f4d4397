// The words for what is lost or changed.
#include "base/text.h"
#include "knowledge/convert/targets.h"

namespace fx::knowledge {
namespace {

struct Reason {
  std::string_view family;  // "" for any target
  std::string_view name;    // of a field, or of a setting
  std::string_view text;
};

constexpr Reason kFields[] = {
    {"", "world_size", "the launch command decides it: torchrun --nnodes N --nproc-per-node M"},
    {"", "nodes", "the launch command decides it: torchrun --nnodes N"},
    {"", "processes_per_node", "the launch command decides it: torchrun --nproc-per-node M"},
    {"accelerate", "reduce_precision", "accelerate reduces in the type of mixed_precision"},
    {"axolotl", "reduce_precision", "accelerate below it reduces in the type that it computes in"},
    {"trainer", "reduce_precision", "accelerate below it reduces in the type that it computes in"},
    {"torchtitan", "reduce_precision", "torchtitan reduces in float32 only"},
    {"torchtitan", "wrap", "torchtitan shards each transformer block by itself"},
    {"run-spec", "wrap", "the engine shards each block by itself"},
    {"torchtitan", "wrap_min_params", "torchtitan shards each transformer block by itself"},
    {"run-spec", "wrap_min_params", "the engine shards each block by itself"},
    {"torchtitan", "state_dict", "torchtitan always saves sharded (DCP); last_save_in_hf writes one model at the end"},
    {"run-spec", "state_dict", "each rank writes its rows into one Hugging Face folder"},
    {"torchtitan", "ram_efficient_loading", "torchtitan loads shards straight into each rank"},
    {"run-spec", "ram_efficient_loading", "each rank reads only its own rows"},
    {"", "reshard_group", "only the run spec has it; the closest is an HSDP mesh, which also copies optimizer state"},
    {"torchtitan", "data", "torchtitan reads datasets that are registered in its code"},
    {"torchtitan", "packing", "torchtitan's data loader always packs"},
    {"torchtitan", "epochs", "torchtitan counts steps only: set training.steps"},
    {"torchtitan", "warmup_ratio", "torchtitan counts warm-up in steps"},
    {"run-spec", "warmup_ratio", "the run spec counts warm-up in steps"},
    {"torchtitan", "lora", "torchtitan's configuration file has no adapters: it would train all weights"},
    {"trainer", "lora", "TrainingArguments have no adapters: the training script makes them with PEFT"},
    {"trainer", "packing", "TRL's SFTConfig has packing; TrainingArguments have not"},
    {"trainer", "seq_len", "the tokenization in the training script decides it"},
    {"trainer", "data", "the training script loads the data"},
    {"run-spec", "compile", "the engine does not compile"},
    {"", "mesh.tp", "the target has no tensor parallelism"},
    {"", "mesh.cp", "the target has no context parallelism"},
    {"", "mesh.sp", "the target has no sequence parallelism of this kind"},
    {"", "mesh.pp", "the target has no pipeline parallelism"},
    {"", "mesh.ep", "the target has no expert parallelism"},
    {"trainer", "mesh.dp_replicate", "TrainingArguments have no mesh: accelerate's parallelism_config has"},
    {"trainer", "mesh.dp_shard", "TrainingArguments have no mesh: accelerate's parallelism_config has"},
};

constexpr std::string_view kTrains = "accelerate only starts the ranks and shards the model: it belongs to the script";
constexpr std::string_view kAutomatic = "FSDP decides it by itself";

constexpr Reason kSettings[] = {
    {"", "backward_prefetch", "FSDP2 always fetches the next layer before its backward"},
    {"", "forward_prefetch", "FSDP2 has it in code only: set_modules_to_forward_prefetch"},
    {"", "use_orig_params", "FSDP2 always keeps the original parameters"},
    {"", "sync_module_states", "FSDP2 broadcasts rank 0's weights when only rank 0 loads them"},
    {"", "limit_all_gathers", "FSDP2 limits all-gathers by itself"},
    {"", "sharding_strategy", "FSDP2 says it with reshard_after_forward and the mesh"},
    {"", "overlap_comm", kAutomatic},
    {"", "contiguous_gradients", kAutomatic},
    {"", "reduce_scatter", kAutomatic},
    {"", "reduce_bucket_size", kAutomatic},
    {"", "allgather_bucket_size", kAutomatic},
    {"", "allgather_partitions", kAutomatic},
    {"", "sub_group_size", kAutomatic},
    {"", "round_robin_gradients", kAutomatic},
    {"", "stage3_prefetch_bucket_size", kAutomatic},
    {"", "stage3_param_persistence_threshold", kAutomatic},
    {"", "stage3_max_live_parameters", kAutomatic},
    {"", "stage3_max_reuse_distance", kAutomatic},
    {"", "pin_memory", "FSDP pins offloaded memory by itself"},
    {"", "zero_quantized_weights", "FSDP has no quantized collectives"},
    {"", "zero_quantized_gradients", "FSDP has no quantized collectives"},
    {"", "nvme_path", "FSDP offloads to host memory only"},
    {"", "ratio", "FSDP offloads all or nothing"},
    {"", "steps_per_print", "logging of DeepSpeed"},
    {"", "wall_clock_breakdown", "logging of DeepSpeed"},
    {"", "loss_scale", "torch's gradient scaler has its own start value"},
    {"", "loss_scale_window", "torch's gradient scaler has its own window"},
    {"", "initial_scale_power", "torch's gradient scaler has its own start value"},
    {"", "hysteresis", "torch's gradient scaler has none"},
    {"", "min_loss_scale", "torch's gradient scaler has none"},
};

}  // namespace

std::string reason_for(const Target& target, std::string_view field) {
  if (field.rfind("lora.", 0) == 0) field = "lora";
  for (const Reason& row : kFields) {
    if ((row.family.empty() || row.family == target.family) && row.name == field) return std::string(row.text);
  }
  if (target.family == "accelerate") return std::string(kTrains);
  if (target.format == kFsdpConfigJson) return "it stands beside fsdp_config in the training arguments";
  return std::string(target.label) + " has no setting for it";
}

std::string reason_for_setting(const Target& target, std::string_view name) {
  if (name.rfind("fsdp_", 0) == 0) name = name.substr(5);
  for (const Reason& row : kSettings) {
    if (row.name == name) return std::string(row.text);
  }
  return std::string(target.label) + " has no setting for it that means the same";
}

}  // namespace fx::knowledge
