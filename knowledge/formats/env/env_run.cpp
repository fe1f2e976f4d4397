// What an environment file decides by itself: ranks, and the settings that accelerate reads from variables.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {
namespace {

class Variables {
 public:
  explicit Variables(const Input& input) {
    for (const auto& assignment : input.script.assignments) {
      if (!assignment.value.resolved()) continue;
      Node node;
      node.name = node.shown = assignment.name;
      node.text = assignment.value.text;
      node.kind = yaml_kind(node.text);
      node.line = assignment.line;
      node.column = assignment.column;
      nodes_.push_back(std::move(node));
    }
  }
  const Node* get(std::string_view name) const {  // the last one given
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
      if (it->name == name) return &*it;
    }
    return nullptr;
  }

 private:
  std::vector<Node> nodes_;
};

std::string strategy_name(const Node* node) {
  const auto number = integer_of(node);
  if (number && *number >= 1 && *number <= 5) return sharding_strategies()[static_cast<std::size_t>(*number - 1)];
  std::string name = text_of(node);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name.empty() ? "FULL_SHARD" : name;
}

void read_fsdp(const Variables& variables, RunReader& reader) {
  Effective& run = reader.run;
  run.fsdp_version = integer_of(reader.from("fsdp_version", variables.get("FSDP_VERSION"))) == 2 ? 2 : 1;
  const Node* strategy = variables.get("FSDP_SHARDING_STRATEGY");
  reader.from("strategy", strategy);
  const std::string name = strategy_name(strategy);
  if (run.fsdp_version == 2) {
    run.strategy = "fsdp2";
    run.reshard_after_forward =
        !is_false(reader.from("reshard_after_forward", variables.get("FSDP_RESHARD_AFTER_FORWARD")));
  } else {
    run.strategy = name == "NO_SHARD" ? "ddp" : name.rfind("HYBRID", 0) == 0 ? "hsdp" : "fsdp1";
    if (run.strategy != "ddp") run.reshard_after_forward = name == "FULL_SHARD" || name == "HYBRID_SHARD";
  }
  run.cpu_offload = is_true(reader.from("cpu_offload", variables.get("FSDP_OFFLOAD_PARAMS")));
  const Node* recompute = reader.from("activation_checkpointing", variables.get("FSDP_ACTIVATION_CHECKPOINTING"));
  run.activation_checkpointing = is_true(recompute) ? "full" : "none";
  reader.flag("ram_efficient_loading", run.ram_efficient_loading, variables.get("FSDP_CPU_RAM_EFFICIENT_LOADING"));
  reader.state_dict(variables.get("FSDP_STATE_DICT_TYPE"));
  run.wrap = "none";
  reader.wrap(variables.get("FSDP_AUTO_WRAP_POLICY"), variables.get("FSDP_TRANSFORMER_CLS_TO_WRAP"));
}

}  // namespace

void read_env_run(RunReader& reader) {
  const Variables variables(reader.input);
  Effective& run = reader.run;
  reader.integer("world_size", run.world_size, variables.get("WORLD_SIZE"));
  for (const char* name : {"NNODES", "SLURM_NNODES"}) reader.integer("nodes", run.nodes, variables.get(name));
  for (const char* name : {"NPROC_PER_NODE", "LOCAL_WORLD_SIZE"})
    reader.integer("processes_per_node", run.processes_per_node, variables.get(name));
  if (is_true(reader.from("strategy", variables.get("ACCELERATE_USE_FSDP")))) read_fsdp(variables, reader);
  reader.dtype("precision", run.precision, variables.get("ACCELERATE_MIXED_PRECISION"));
  reader.integer("grad_accum", run.grad_accum, variables.get("ACCELERATE_GRADIENT_ACCUMULATION_STEPS"));
}

}  // namespace fx::knowledge
