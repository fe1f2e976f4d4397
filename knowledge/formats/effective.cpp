#include "knowledge/formats/effective.h"

#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/formats/axolotl/axolotl.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/formats/slime/slime.h"
#include "knowledge/formats/torchtitan/torchtitan.h"
#include "knowledge/formats/trainer/trainer.h"
#include "knowledge/formats/verl/verl.h"

namespace fx::knowledge {
namespace {

std::optional<bool> flag_of(const Node* node) {
  if (is_true(node)) return true;
  if (is_false(node)) return false;
  return std::nullopt;
}

std::string state_dict_of(const Node* node) {
  const std::string low = to_lower(text_of(node));
  for (const char* kind : {"sharded", "full", "local"}) {
    if (low.rfind(kind, 0) == 0) return kind;
  }
  return "";
}

void add_axis(Effective& out, const char* name, long long size) {
  if (size > 1) out.mesh.emplace_back(name, size);
}

std::string precision_of(const Node* bf16, const Node* fp16) {
  if (bf16 != nullptr && (is_true(bf16) || bf16->text == "auto")) return "bf16";
  return is_true(fp16) ? "fp16" : "";
}

std::string wrap_of(const Node* policy, const Node* classes) {
  if (is_set(classes)) return quote_input(join(words_of(classes), ","), 200);
  const std::string low = to_lower(text_of(policy));
  if (low.rfind("transformer", 0) == 0) return "default";
  return low.rfind("size", 0) == 0 ? "size" : low.empty() ? "" : "none";
}

void from_accelerate(const Input& input, Effective& out) {
  const AccelerateView view(input);
  out.world_size = view.processes();
  out.nodes = view.machines();
  const std::string type = text_of(view.top("distributed_type"));
  if (view.fsdp_on() || !view.is_yaml()) {
    const bool hybrid = view.version() == 1 && view.strategy().rfind("HYBRID", 0) == 0;
    if (view.fsdp_on())
      out.strategy = view.version() == 2 ? "fsdp2" : view.strategy() == "NO_SHARD" ? "ddp" : hybrid ? "hsdp" : "fsdp1";
    const bool grad_op = view.strategy() == "SHARD_GRAD_OP" || view.strategy() == "HYBRID_SHARD_ZERO2";
    if (view.fsdp_on())
      out.reshard_after_forward = view.version() == 2 ? !is_false(view.fsdp("reshard_after_forward")) : !grad_op;
  } else if (type == "MULTI_GPU") {
    out.strategy = "ddp";
  } else if (type == "DEEPSPEED") {
    const auto stage = view.top("deepspeed_config") == nullptr
                           ? std::nullopt
                           : integer_of(view.top("deepspeed_config")->find("zero_stage"));
    out.strategy = "zero" + std::to_string(stage.value_or(2));
  } else if (type == "NO") {
    out.strategy = "none";
  }
  for (const auto& [axis, key] :
       {std::pair("dp_replicate", "dp_replicate_size"), std::pair("dp_shard", "dp_shard_size"),
        std::pair("tp", "tp_size"), std::pair("cp", "cp_size"), std::pair("sp", "sp_size")}) {
    add_axis(out, axis, view.mesh_size(key));
  }
  const std::string precision = to_lower(text_of(view.top("mixed_precision")));
  out.precision = precision == "no" || precision == "false"                          ? "fp32"
                  : precision == "bf16" || precision == "fp16" || precision == "fp8" ? precision
                                                                                     : "";
  out.cpu_offload = flag_of(view.fsdp("offload_params"));
  out.activation_checkpointing = flag_of(view.fsdp("activation_checkpointing"));
  out.state_dict = state_dict_of(view.fsdp("state_dict_type"));
  out.wrap = wrap_of(view.fsdp("auto_wrap_policy"), view.fsdp("transformer_layer_cls_to_wrap"));
}

void from_trainer(const Input& input, Effective& out) {
  const TrainerView view(input);
  if (view.fsdp_on()) {
    out.strategy = view.has_option("no_shard")       ? "ddp"
                   : view.has_option("hybrid_shard") ? "hsdp"
                   : view.version()                  ? "fsdp" + std::to_string(*view.version())
                                                     : "fsdp";
    out.reshard_after_forward =
        view.version() == 2 ? !is_false(view.setting("reshard_after_forward")) : !view.has_option("shard_grad_op");
  } else if (is_set(view.argument("deepspeed"))) {
    out.strategy = "deepspeed";
  }
  out.precision = precision_of(view.argument("bf16"), view.argument("fp16"));
  if (view.has_option("offload") || is_true(view.setting("cpu_offload"))) out.cpu_offload = true;
  if (is_true(view.setting("activation_checkpointing")) || is_true(view.argument("gradient_checkpointing")))
    out.activation_checkpointing = true;
  out.state_dict = state_dict_of(view.setting("state_dict_type"));
  out.wrap = wrap_of(view.setting("auto_wrap_policy"), view.setting("transformer_layer_cls_to_wrap"));
  out.micro_batch = integer_of(view.argument("per_device_train_batch_size"));
  out.grad_accum = integer_of(view.argument("gradient_accumulation_steps"));
}

void from_axolotl(const Input& input, Effective& out) {
  const AxolotlView view(input);
  if (view.fsdp_on()) out.strategy = view.version() == 2 ? "fsdp2" : "fsdp1";
  if (view.v2()) out.reshard_after_forward = !is_false(view.setting("reshard_after_forward"));
  if (!view.fsdp_on() && is_set(view.top("deepspeed"))) out.strategy = "deepspeed";
  for (const auto& [axis, key] : {std::pair("dp_replicate", "dp_replicate_size"),
                                  std::pair("dp_shard", "dp_shard_size"), std::pair("tp", "tensor_parallel_size"),
                                  std::pair("cp", "context_parallel_size"), std::pair("ep", "expert_parallel_size")}) {
    add_axis(out, axis, integer_of(view.top(key)).value_or(1));
  }
  out.precision = is_true(view.top("fp8")) ? "fp8" : precision_of(view.top("bf16"), view.top("fp16"));
  out.cpu_offload = flag_of(view.setting("offload_params"));
  out.activation_checkpointing =
      is_true(view.setting("activation_checkpointing")) ? true : flag_of(view.top("gradient_checkpointing"));
  out.state_dict = state_dict_of(view.setting("state_dict_type"));
  out.wrap = wrap_of(view.setting("auto_wrap_policy"), view.setting("transformer_layer_cls_to_wrap"));
  out.micro_batch = integer_of(view.top("micro_batch_size"));
  out.grad_accum = integer_of(view.top("gradient_accumulation_steps"));
  out.seq_len = integer_of(view.top("sequence_len"));
}

void from_torchtitan(const Input& input, Effective& out) {
  const TitanView view(input);
  out.world_size = view.world();
  out.strategy = view.size("data_parallel_replicate") > 1 ? "hsdp" : "fsdp2";
  const std::string reshard = text_of(view.parallel("fsdp_reshard_after_forward"));
  out.reshard_after_forward = reshard == "always" || (reshard != "never" && view.size("pipeline_parallel") <= 1);
  add_axis(out, "dp_replicate", view.size("data_parallel_replicate"));
  add_axis(out, "dp_shard", view.shard().value_or(1));
  for (const auto& [axis, key] : {std::pair("tp", "tensor_parallel"), std::pair("cp", "context_parallel"),
                                  std::pair("pp", "pipeline_parallel"), std::pair("ep", "expert_parallel")}) {
    add_axis(out, axis, view.size(key));
  }
  out.precision = text_of(view.get("training", "mixed_precision_param")) == "float32" ? "fp32" : "bf16";
  out.cpu_offload = is_true(view.get("training", "enable_cpu_offload"));
  out.activation_checkpointing = text_of(view.get("activation_checkpoint", "mode")) != "none";
  out.micro_batch = integer_of(view.get("training", "local_batch_size"));
  out.seq_len = integer_of(view.get("training", "seq_len"));
  if (const auto global = integer_of(view.get("training", "global_batch_size")); global && *global > 0)
    out.global_batch = global;
}

void from_torchtune(const Input& input, Effective& out) {
  const auto top = [&](std::string_view name) { return input.root().find(name); };
  out.strategy = integer_of(top("data_parallel_replicate_dim")).value_or(1) > 1 ? "hsdp" : "fsdp2";
  out.reshard_after_forward = !is_false(top("fsdp_reshard_after_forward"));
  add_axis(out, "dp_replicate", integer_of(top("data_parallel_replicate_dim")).value_or(1));
  add_axis(out, "dp_shard", integer_of(top("data_parallel_shard_dim")).value_or(1));
  add_axis(out, "tp", integer_of(top("tensor_parallel_dim")).value_or(1));
  add_axis(out, "cp", integer_of(top("context_parallel_dim")).value_or(1));
  out.precision = text_of(top("dtype"));
  out.cpu_offload = is_true(top("fsdp_cpu_offload"));
  out.activation_checkpointing = is_true(top("enable_activation_checkpointing"));
  out.micro_batch = integer_of(top("batch_size"));
  out.grad_accum = integer_of(top("gradient_accumulation_steps"));
}

void from_deepspeed(const Input& input, Effective& out) {
  const Node& root = input.root();
  out.strategy = "zero" + std::to_string(integer_of(root.at("zero_optimization.stage")).value_or(0));
  if (out.strategy == "zero0") out.strategy = "ddp";
  out.precision = precision_of(root.at("bf16.enabled"), root.at("fp16.enabled"));
  out.cpu_offload = text_of(root.at("zero_optimization.offload_param.device")) == "cpu";
  out.micro_batch = integer_of(root.find("train_micro_batch_size_per_gpu"));
  out.grad_accum = integer_of(root.find("gradient_accumulation_steps"));
  out.global_batch = integer_of(root.find("train_batch_size"));
}

void from_verl(const Input& input, Effective& out) {
  const VerlView view = verl_view(input);
  const auto nodes = integer_of(view.get("trainer.nnodes")), per_node = integer_of(view.get("trainer.n_gpus_per_node"));
  if (nodes) out.nodes = nodes;
  if (per_node) out.processes_per_node = per_node;
  const std::string strategy = view.strategy("actor_rollout_ref.actor");
  out.strategy = strategy == "fsdp" ? "fsdp1" : strategy;
  const std::string path = verl_fsdp_path("actor_rollout_ref.actor");
  out.cpu_offload = is_true(view.get(path + ".param_offload")) || is_true(view.get(path + ".offload_policy"));
  if (strategy == "fsdp2") out.reshard_after_forward = !is_false(view.get(path + ".reshard_after_forward"));
  out.precision = view.text(path + ".dtype") == "float16" ? "fp16" : "bf16";
  out.global_batch = integer_of(view.get("data.train_batch_size"));
  out.micro_batch = integer_of(view.get("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"));
}

void from_slime(const Input& input, Effective& out) {
  const SlimeView view = slime_view(input);
  out.strategy = view.fsdp() ? "fsdp2" : text_of(view.flag("train_backend"));
  out.nodes = integer_of(view.flag("actor_num_nodes"));
  out.processes_per_node = integer_of(view.flag("actor_num_gpus_per_node"));
  out.cpu_offload = view.flag("fsdp_cpu_offload") != nullptr;
  out.activation_checkpointing =
      view.flag("gradient_checkpointing") != nullptr || view.flag("fsdp_activation_checkpointing") != nullptr;
  out.precision = view.flag("fp16") != nullptr ? "fp16" : "bf16";
  out.global_batch = integer_of(view.flag("global_batch_size"));
  out.micro_batch = integer_of(view.flag("micro_batch_size"));
}

void from_launch(const Input& input, Effective& out) {
  for (const auto& launch : input.launches) {
    const auto processes = processes_per_node(launch);
    if (launch.launcher != Launcher::kTorchrun && launch.launcher != Launcher::kAccelerate &&
        launch.launcher != Launcher::kTune)
      continue;
    if (!out.nodes) out.nodes = launch_nodes(input, launch);
    if (!out.processes_per_node) out.processes_per_node = processes;
    return;
  }
}

}  // namespace

Effective effective_run(const Input& input) {
  Effective out;
  if (!input.applicable || input.document.error) return out;
  if (input.is(kAccelerateYaml | kAccelerateLaunch)) from_accelerate(input, out);
  if (input.is(kTrainerCli | kTrainingArgsJson | kFsdpConfigJson | kLlamafactoryYaml)) from_trainer(input, out);
  if (input.is(kAxolotlYaml)) from_axolotl(input, out);
  if (input.is(kTorchtitanToml | kTorchtitanCli | kTorchtitanPython)) from_torchtitan(input, out);
  if (input.is(kTorchtuneYaml)) from_torchtune(input, out);
  if (input.is(kDeepspeedJson)) from_deepspeed(input, out);
  if (input.is(kVerlOverrides)) from_verl(input, out);
  if (input.is(kSlimeCli)) from_slime(input, out);
  if (input.is(kShell)) from_launch(input, out);
  const auto small = [](const std::optional<long long>& n) { return n && *n > 0 && *n < 1000000; };
  if (!out.world_size && small(out.nodes) && small(out.processes_per_node))
    out.world_size = *out.nodes * *out.processes_per_node;
  if (!out.processes_per_node && small(out.world_size) && small(out.nodes))
    out.processes_per_node = *out.world_size / *out.nodes;
  if (!out.world_size) out.world_size = input.context.world_size();
  return out;
}

}  // namespace fx::knowledge
