// An accelerate yaml. Everything but how the ranks start and share the model belongs to the training script.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/formats/run_writer.h"

namespace fx::knowledge {
namespace {

std::string upper_state_dict(const std::string& kind) {
  return kind == "full" ? "FULL_STATE_DICT" : kind == "local" ? "LOCAL_STATE_DICT" : "SHARDED_STATE_DICT";
}

void add_wrap(const Effective& run, Json& out) {
  const std::string wrap = run.wrap.value_or("default");
  out["fsdp_auto_wrap_policy"] = wrap == "none"   ? "NO_WRAP"
                                 : wrap == "size" ? "SIZE_BASED_WRAP"
                                                  : "TRANSFORMER_BASED_WRAP";
  if (wrap == "size") {
    out["fsdp_min_num_params"] = run.wrap_min_params.value_or(100000000);
  } else if (wrap != "none" && wrap != "default") {
    out["fsdp_transformer_layer_cls_to_wrap"] = wrap;
  }
}

Json fsdp_block(const Effective& run) {
  const bool v2 = run.fsdp_version == 2, reshard = run.reshard_after_forward.value_or(true);
  Json out = {{"fsdp_version", run.fsdp_version.value_or(1)}};
  if (v2) {
    out["fsdp_reshard_after_forward"] = reshard;
  } else if (run.strategy == "hsdp") {
    out["fsdp_sharding_strategy"] = reshard ? "HYBRID_SHARD" : "HYBRID_SHARD_ZERO2";
  } else {
    out["fsdp_sharding_strategy"] = reshard ? "FULL_SHARD" : "SHARD_GRAD_OP";
  }
  out["fsdp_offload_params"] = run.cpu_offload.value_or(false);
  add_wrap(run, out);
  out["fsdp_state_dict_type"] = upper_state_dict(run.state_dict.value_or(v2 ? "sharded" : "full"));
  out["fsdp_activation_checkpointing"] = run.activation_checkpointing.value_or("none") != "none";
  out["fsdp_cpu_ram_efficient_loading"] = run.ram_efficient_loading.value_or(true);
  return out;
}

// Needed when the mesh is more than one axis over all ranks.
Json mesh_block(const EffectiveMesh& mesh) {
  Json out = Json::object();
  const std::string prefix = "parallelism_config_";
  out[prefix + "dp_replicate_size"] = mesh.dp_replicate.value_or(1);
  out[prefix + "dp_shard_size"] = mesh.dp_shard.value_or(1);
  out[prefix + "tp_size"] = mesh.tp.value_or(1);
  out[prefix + "cp_size"] = mesh.cp.value_or(1);
  if (mesh.sp) out[prefix + "sp_size"] = *mesh.sp;
  return out;
}

void add_cluster(const Effective& run, WriteNotes& notes, Json& out) {
  const long long nodes = run.nodes.value_or(1);
  if (run.world_size) {
    out["num_processes"] = *run.world_size;
  } else {
    notes.placeholder("num_processes", "", "the source does not say how many ranks start: give it at launch");
  }
  out["num_machines"] = nodes;
  out["machine_rank"] = 0;
  if (nodes > 1) {
    const std::string why = "several machines meet at the first one: put its address, and another machine_rank on each";
    out["main_process_ip"] = "first-machine";
    out["main_process_port"] = 29500;
    notes.placeholder("main_process_ip", "first-machine", why);
  }
}

}  // namespace

Json write_accelerate(const Effective& run, WriteNotes& notes) {
  Json out = {{"compute_environment", "LOCAL_MACHINE"}};
  out["distributed_type"] = is_sharded(run) ? "FSDP" : run.strategy == "none" ? "NO" : "MULTI_GPU";
  const std::string precision = run.precision.value_or("");
  if (!precision.empty()) out["mixed_precision"] = precision == "fp32" ? "no" : precision;
  add_cluster(run, notes, out);
  if (run.grad_accum && *run.grad_accum > 1)
    notes.because("grad_accum", "the training script gives it to Accelerator(gradient_accumulation_steps=...)");
  if (is_sharded(run)) out["fsdp_config"] = fsdp_block(run);
  const EffectiveMesh& mesh = run.mesh;
  const bool part = mesh.dp_shard && run.world_size && *mesh.dp_shard != *run.world_size;
  const bool several_axes = part || mesh.dp_replicate || mesh.tp || mesh.cp || mesh.sp;
  if (run.fsdp_version == 2 && is_sharded(run) && several_axes) out["parallelism_config"] = mesh_block(mesh);
  out["main_training_function"] = "main";
  out["use_cpu"] = false;
  return out;
}

}  // namespace fx::knowledge
