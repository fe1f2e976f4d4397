// The run of an accelerate yaml or of the flags of `accelerate launch`.
#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {
namespace {

void read_fsdp(const AccelerateView& view, RunReader& reader) {
  Effective& run = reader.run;
  const Node* strategy = reader.from("strategy", view.fsdp("sharding_strategy"));
  reader.from("strategy", view.fsdp("version"));
  const bool v2 = view.version() == 2;
  const bool hybrid = v2 ? view.mesh_size("dp_replicate_size") > 1 : view.strategy().rfind("HYBRID", 0) == 0;
  run.fsdp_version = v2 ? 2 : 1;
  reader.from("fsdp_version", view.fsdp("version"));
  run.strategy = hybrid ? "hsdp" : v2 ? "fsdp2" : view.strategy() == "NO_SHARD" ? "ddp" : "fsdp1";
  const Node* reshard = view.fsdp("reshard_after_forward");
  if (v2) {
    run.reshard_after_forward = !is_false(reader.from("reshard_after_forward", reshard));
  } else if (run.strategy != "ddp") {
    reader.from("reshard_after_forward", strategy);
    run.reshard_after_forward = view.strategy() != "SHARD_GRAD_OP" && view.strategy() != "HYBRID_SHARD_ZERO2";
  }
  run.cpu_offload = is_true(reader.from("cpu_offload", view.fsdp("offload_params")));
  run.activation_checkpointing =
      is_true(reader.from("activation_checkpointing", view.fsdp("activation_checkpointing"))) ? "full" : "none";
  run.ram_efficient_loading = !is_false(reader.from("ram_efficient_loading", view.fsdp("cpu_ram_efficient_loading")));
  run.state_dict = v2 ? "sharded" : "full";
  reader.state_dict(view.fsdp("state_dict_type"));
  run.wrap = "none";
  reader.wrap(view.fsdp("auto_wrap_policy"), view.fsdp("transformer_layer_cls_to_wrap"));
  if (run.wrap == "size") {
    run.wrap_min_params = 100000000;
    reader.integer("wrap_min_params", run.wrap_min_params, view.fsdp("min_num_params"));
  }
}

void read_other_strategy(const AccelerateView& view, RunReader& reader) {
  Effective& run = reader.run;
  const Node* node = reader.from("strategy", view.top("distributed_type"));
  const std::string type = text_of(node);
  const Node* zero = view.top("deepspeed_config");
  if (type == "DEEPSPEED" || view.top("use_deepspeed") != nullptr) {
    const Node* stage = zero == nullptr ? view.top("zero_stage") : zero->find("zero_stage");
    run.strategy = "zero" + std::to_string(integer_of(reader.from("strategy", stage)).value_or(2));
  } else if (type == "MULTI_GPU" || view.top("multi_gpu") != nullptr) {
    run.strategy = "ddp";
  } else if (type == "NO") {
    run.strategy = "none";
  }
}

}  // namespace

void read_accelerate_run(RunReader& reader) {
  const AccelerateView view(reader.input);
  Effective& run = reader.run;
  reader.integer("world_size", run.world_size, view.top("num_processes"));
  reader.from("nodes", view.top("num_machines"));
  run.nodes = view.machines();
  if (view.fsdp_on()) {
    reader.from("strategy", view.top("distributed_type"));
    read_fsdp(view, reader);
  } else {
    read_other_strategy(view, reader);
  }
  EffectiveMesh& mesh = run.mesh;
  reader.axis("dp_replicate", mesh.dp_replicate, view.mesh("dp_replicate_size"));
  reader.axis("dp_shard", mesh.dp_shard, view.mesh("dp_shard_size"));
  reader.axis("tp", mesh.tp, view.mesh("tp_size"));
  reader.axis("cp", mesh.cp, view.mesh("cp_size"));
  reader.axis("sp", mesh.sp, view.mesh("sp_size"));
  const Node* precision = view.top("mixed_precision");
  reader.dtype("precision", run.precision, precision);
  if (is_false(precision)) run.precision = "fp32";  // an unquoted no
  // FSDP computes and reduces in the one type that accelerate gives it.
  if (view.fsdp_on() && run.precision) run.reduce_precision = run.precision == "fp8" ? "bf16" : *run.precision;
  reader.integer("grad_accum", run.grad_accum, view.top("gradient_accumulation_steps"));
}

}  // namespace fx::knowledge
