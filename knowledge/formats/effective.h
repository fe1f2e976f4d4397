// The run that a file really describes, in one vocabulary for every format. What neither the file nor a fixed default
// of its framework decides stays empty.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "knowledge/formats/input.h"
#include "spec/field_info.h"

namespace fx::knowledge {

// Sizes above 1 of the device mesh.
struct EffectiveMesh {
  std::optional<long long> dp_replicate, dp_shard, tp, cp, sp, pp, ep;
};

// Adapters that are trained instead of the weights.
struct EffectiveLora {
  std::optional<std::string> kind;  // lora, qlora, or the file's own name
  std::optional<long long> rank;
  std::optional<double> alpha, dropout;
  std::optional<std::string> targets;  // names of projections, or all-linear: every one of each block
  std::optional<std::string> adapter;  // folder to go on from
};

struct Effective {
  std::optional<long long> world_size, nodes, processes_per_node;
  std::optional<std::string> strategy;    // fsdp (version open), fsdp1, fsdp2, hsdp, ddp, zero1-3, deepspeed, none
  std::optional<long long> fsdp_version;  // 1 or 2, when the strategy is of the FSDP family
  std::optional<bool> reshard_after_forward;
  std::optional<long long> reshard_group;  // ranks that keep one copy between forward and backward
  EffectiveMesh mesh;
  std::optional<std::string> precision, reduce_precision;  // bf16, fp16, fp8, fp32
  std::optional<bool> cpu_offload, ram_efficient_loading;
  std::optional<std::string> activation_checkpointing;  // none, selective, full, memory_budget
  std::optional<std::string> state_dict;                // full, sharded, local
  std::optional<std::string> wrap;  // class names, size, none, default (the model's _no_split_modules)
  std::optional<long long> wrap_min_params;
  std::optional<bool> compile;

  EffectiveLora lora;  // without kind: all weights are trained
  std::optional<std::string> model, data, output;
  std::optional<long long> micro_batch, grad_accum;  // sequences a rank and step of the model; steps a weight update
  std::optional<long long> global_batch;             // sequences a weight update over all ranks
  std::optional<long long> seq_len;
  std::optional<bool> packing;
  std::optional<long long> steps, warmup_steps;
  std::optional<double> epochs, warmup_ratio;
  std::optional<std::string> optimizer;  // adamw, adamw-fused, adamw-8bit, paged-adamw-8bit, ... or the file's own name
  std::optional<double> learning_rate, weight_decay, adam_beta1, adam_beta2, adam_epsilon, max_grad_norm;
  std::optional<std::string> schedule;                   // cosine, linear, constant, or the file's own name
  std::optional<long long> save_every, save_keep, seed;  // save_every in steps
};

// Where a field's value stands in the file.
struct Origin {
  std::string field;  // "precision", "mesh.tp"
  std::string key;    // as findings name it
  std::string name;   // in its own mapping
  int line = 0;
  std::string value;  // as written; may hold a secret
};

struct EffectiveRun {
  Effective run;
  std::vector<Origin> origins;  // several settings may shape one field
  // Origins of one field.
  std::vector<const Origin*> of(std::string_view field) const;
};

EffectiveRun effective_run(const Input& input);

// The table behind schema and JSON.
const std::vector<FieldInfo>& effective_fields();
Json to_json(const Effective& run);
// Every field that is set, by its path, as compact JSON text: "mesh.tp" -> "2".
std::map<std::string, std::string> flat_fields(const Effective& run);

}  // namespace fx::knowledge
