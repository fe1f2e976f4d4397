// What the fields of a run are called, for JSON, schema and comparison.
#include <nlohmann/json.hpp>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/formats/effective.h"
#include "spec/fields.h"

namespace fx::knowledge {
namespace {

const Fields<EffectiveMesh>& mesh_fields() {
  static const auto fields = Fields<EffectiveMesh>{}
                                 .add("dp_replicate", &EffectiveMesh::dp_replicate, "copies of the sharded model")
                                 .add("dp_shard", &EffectiveMesh::dp_shard, "ranks that share one copy")
                                 .add("tp", &EffectiveMesh::tp, "tensor parallel")
                                 .add("cp", &EffectiveMesh::cp, "context parallel")
                                 .add("sp", &EffectiveMesh::sp, "sequence parallel")
                                 .add("pp", &EffectiveMesh::pp, "pipeline parallel")
                                 .add("ep", &EffectiveMesh::ep, "expert parallel");
  return fields;
}

const Fields<EffectiveLora>& effective_lora_fields() {
  static const auto fields = Fields<EffectiveLora>{}
                                 .add("kind", &EffectiveLora::kind, "lora, qlora, ...")
                                 .add("rank", &EffectiveLora::rank, "width of the adapters")
                                 .add("alpha", &EffectiveLora::alpha, "adapters count alpha / rank")
                                 .add("dropout", &EffectiveLora::dropout, "of the adapters' input")
                                 .add("targets", &EffectiveLora::targets, "projections, or all-linear")
                                 .add("adapter", &EffectiveLora::adapter, "folder to go on from");
  return fields;
}

void add_sharding(Fields<Effective>& fields) {
  using E = Effective;
  fields.add("world_size", &E::world_size, "ranks")
      .add("nodes", &E::nodes, "machines")
      .add("processes_per_node", &E::processes_per_node, "ranks a machine")
      .add("strategy", &E::strategy, "fsdp, fsdp1, fsdp2, hsdp, ddp, zero1, zero2, zero3, deepspeed, none or megatron")
      .add("fsdp_version", &E::fsdp_version, "1 or 2")
      .add("reshard_after_forward", &E::reshard_after_forward, "parameters are freed after forward")
      .add("reshard_group", &E::reshard_group, "ranks that keep one copy between forward and backward")
      .add("mesh", &E::mesh, "sizes above 1", mesh_fields())
      .add("precision", &E::precision, "compute: bf16, fp16, fp8 or fp32")
      .add("reduce_precision", &E::reduce_precision, "gradient reduction")
      .add("cpu_offload", &E::cpu_offload, "shards and optimizer state in host memory")
      .add("ram_efficient_loading", &E::ram_efficient_loading, "only rank 0 reads the weights")
      .add("activation_checkpointing", &E::activation_checkpointing, "none, selective, full or memory_budget")
      .add("state_dict", &E::state_dict, "full, sharded or local")
      .add("wrap", &E::wrap, "class names, size, none, or default: the model's own layers")
      .add("wrap_min_params", &E::wrap_min_params, "parameters of the smallest wrapped module, for wrap size")
      .add("compile", &E::compile, "torch.compile");
}

void add_training(Fields<Effective>& fields) {
  using E = Effective;
  fields.add("lora", &E::lora, "adapters that are trained instead of the weights", effective_lora_fields())
      .add("model", &E::model, "name or folder")
      .add("data", &E::data, "name or path")
      .add("output", &E::output, "folder")
      .add("micro_batch", &E::micro_batch, "sequences a rank computes at once")
      .add("grad_accum", &E::grad_accum, "micro-batches in one weight update")
      .add("global_batch", &E::global_batch, "sequences in one weight update over all ranks")
      .add("seq_len", &E::seq_len, "tokens of a sequence")
      .add("packing", &E::packing, "several documents in one sequence")
      .add("steps", &E::steps, "weight updates")
      .add("epochs", &E::epochs, "passes over the data")
      .add("optimizer", &E::optimizer, "adamw, adamw-fused, adamw-8bit, ...")
      .add("learning_rate", &E::learning_rate, "peak")
      .add("schedule", &E::schedule, "cosine, linear, constant, ...")
      .add("warmup_steps", &E::warmup_steps, "steps of warm-up")
      .add("warmup_ratio", &E::warmup_ratio, "warm-up as a share of all steps")
      .add("weight_decay", &E::weight_decay, "decoupled")
      .add("adam_beta1", &E::adam_beta1, "AdamW")
      .add("adam_beta2", &E::adam_beta2, "AdamW")
      .add("adam_epsilon", &E::adam_epsilon, "AdamW")
      .add("max_grad_norm", &E::max_grad_norm, "gradients are clipped to this norm; 0: not clipped")
      .add("save_every", &E::save_every, "steps between checkpoints")
      .add("save_keep", &E::save_keep, "newest checkpoints kept")
      .add("seed", &E::seed, "of the data order");
}

const Fields<Effective>& fields_of_run() {
  static const auto fields = [] {
    Fields<Effective> out;
    add_sharding(out);
    add_training(out);
    return out;
  }();
  return fields;
}

void mask_strings(Json& fields) {
  for (auto& value : fields) {
    if (value.is_string()) value = quote_input(mask_secrets(value.get<std::string>()), 200);
    if (value.is_object()) mask_strings(value);
  }
}

}  // namespace

const std::vector<FieldInfo>& effective_fields() {
  return fields_of_run().infos();
}

Json to_json(const Effective& run) {
  Json out = Json::object();
  fields_of_run().write(run, out);
  for (const char* part : {"mesh", "lora"}) {
    if (out[part].empty()) out.erase(part);
  }
  mask_strings(out);
  return out;
}

std::map<std::string, std::string> flat_fields(const Effective& run) {
  std::map<std::string, std::string> out;
  Json json = Json::object();
  fields_of_run().write(run, json);
  for (const auto& [name, value] : json.items()) {
    if (!value.is_object()) {
      out[name] = to_text(value);
      continue;
    }
    for (const auto& [axis, size] : value.items()) out[name + "." + axis] = to_text(size);
  }
  return out;
}

}  // namespace fx::knowledge
