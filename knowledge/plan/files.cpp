// Ready files for the chosen setting. Every value comes from the plan; a user edits only paths.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

std::string whole(double value) {
  return std::to_string(static_cast<long long>(value));
}
const char* yes(bool value) {
  return value ? "true" : "false";
}

// The decoder layer's class in transformers, for FSDP's wrapping; empty when the family is not known.
std::string layer_class(const std::string& family) {
  static const std::vector<std::pair<std::string, std::string>> classes = {{"llama", "LlamaDecoderLayer"},
                                                                           {"mistral", "MistralDecoderLayer"},
                                                                           {"mixtral", "MixtralDecoderLayer"},
                                                                           {"qwen2", "Qwen2DecoderLayer"},
                                                                           {"qwen2_moe", "Qwen2MoeDecoderLayer"},
                                                                           {"qwen3", "Qwen3DecoderLayer"},
                                                                           {"qwen3_moe", "Qwen3MoeDecoderLayer"},
                                                                           {"gemma", "GemmaDecoderLayer"},
                                                                           {"gemma2", "Gemma2DecoderLayer"},
                                                                           {"gemma3_text", "Gemma3DecoderLayer"},
                                                                           {"phi", "PhiDecoderLayer"},
                                                                           {"phi3", "Phi3DecoderLayer"},
                                                                           {"gpt2", "GPT2Block"},
                                                                           {"gpt_bigcode", "GPTBigCodeBlock"},
                                                                           {"gpt_neox", "GPTNeoXLayer"},
                                                                           {"mpt", "MptBlock"},
                                                                           {"falcon", "FalconDecoderLayer"},
                                                                           {"granite", "GraniteDecoderLayer"},
                                                                           {"granitemoe", "GraniteMoeDecoderLayer"},
                                                                           {"olmo2", "Olmo2DecoderLayer"},
                                                                           {"gpt_oss", "GptOssDecoderLayer"},
                                                                           {"deepseek_v3", "DeepseekV3DecoderLayer"}};
  for (const auto& [name, type] : classes) {
    if (name == family) return type;
  }
  return {};
}

std::string accelerate_yaml(const Plan& plan) {
  const Setting& s = plan.chosen.setting;
  const Machine& m = plan.machine;
  const bool fsdp = is_fsdp(s.sharding);
  std::string out = "compute_environment: LOCAL_MACHINE\ndebug: false\n";
  out += std::string("distributed_type: ") +
         (m.world() <= 1 ? "'NO'"
          : fsdp         ? "FSDP"
          : m.cpu        ? "MULTI_CPU"
                         : "MULTI_GPU") +
         "\n";
  if (fsdp && m.world() > 1) {
    const std::string layer = layer_class(plan.shape.family);
    out += "fsdp_config:\n  fsdp_version: 2\n";
    out += std::string("  fsdp_activation_checkpointing: ") + yes(s.checkpointing != Checkpointing::kNone) + "\n";
    out +=
        layer.empty()
            ? "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: 10000000\n"
            : "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_transformer_layer_cls_to_wrap: " + layer + "\n";
    out += "  fsdp_cpu_ram_efficient_loading: true\n";
    out += std::string("  fsdp_offload_params: ") + yes(s.offload) + "\n";
    out += std::string("  fsdp_reshard_after_forward: ") + yes(s.reshard) + "\n";
    out += "  fsdp_state_dict_type: SHARDED_STATE_DICT\n";
  }
  if (m.nodes > 1) {
    out += "# Address of the first machine; machine_rank counts from 0, another number on each machine.\n";
    out += "main_process_ip: first-machine\nmain_process_port: 29500\n";
  }
  out += "downcast_bf16: 'no'\nmachine_rank: 0\nmain_training_function: main\n";
  out += std::string("mixed_precision: ") + (s.param_bytes > 2 ? "'no'" : m.gpu.has_bf16 ? "bf16" : "fp16") + "\n";
  out += "num_machines: " + whole(m.nodes) + "\nnum_processes: " + whole(m.world()) +
         "\nrdzv_backend: static\nsame_network: true\n";
  out += std::string("use_cpu: ") + yes(m.cpu) + "\n";
  return out;
}

std::string torchtitan_toml(const Plan& plan) {
  const Setting& s = plan.chosen.setting;
  const Shards n = shards_of(s, plan.machine);
  const double replicate = is_fsdp(s.sharding) ? std::max(1.0, n.data_parallel * s.cp / n.weights) : n.data_parallel;
  const double shard = is_fsdp(s.sharding) ? n.data_parallel / replicate : 1;
  std::string out = "[model]\nname = \"llama3\"\n\n[training]\n";
  out += "local_batch_size = " + whole(s.micro_batch) + "\n";
  if (s.grad_accum > 1) out += "global_batch_size = " + whole(s.micro_batch * s.grad_accum * n.data_parallel) + "\n";
  out += "seq_len = " + whole(s.seq) + "\n";
  out += std::string("mixed_precision_param = \"") + (s.param_bytes > 2 ? "float32" : "bfloat16") +
         "\"\nmixed_precision_reduce = \"float32\"\n";
  out += std::string("enable_cpu_offload = ") + yes(s.offload) + "\n\n[parallelism]\n";
  out +=
      "data_parallel_replicate_degree = " + whole(replicate) + "\ndata_parallel_shard_degree = " + whole(shard) + "\n";
  out += std::string("fsdp_reshard_after_forward = \"") + (s.reshard ? "always" : "never") + "\"\n";
  out += "tensor_parallel_degree = " + whole(s.tp) + "\npipeline_parallel_degree = " + whole(s.pp) +
         "\ncontext_parallel_degree = " + whole(s.cp) + "\n";
  out += "\n[activation_checkpoint]\n";
  const bool selective =
      s.checkpointing == Checkpointing::kSelective || s.checkpointing == Checkpointing::kSelectiveLayer;
  out += std::string("mode = \"") + (selective ? "selective" : std::string(to_string(s.checkpointing))) + "\"\n";
  if (selective)
    out +=
        std::string("selective_ac_option = \"") + (s.checkpointing == Checkpointing::kSelective ? "op" : "2") + "\"\n";
  out += std::string("\n[compile]\nenable = ") + yes(s.compile) + "\n";
  return out;
}

std::string torchrun_line(const Machine& m) {
  if (m.nodes <= 1) return "torchrun --standalone --nproc-per-node=" + whole(m.gpus_per_node) + " train.py\n";
  return "torchrun --nnodes=" + whole(m.nodes) + " --nproc-per-node=" + whole(m.gpus_per_node) +
         " --rdzv-backend=c10d --rdzv-endpoint=\"$MASTER_ADDR:29500\" train.py\n";
}

std::string sbatch_file(const Machine& m) {
  std::string out =
      "#!/bin/bash\n#SBATCH --job-name=finetune\n#SBATCH --nodes=" + whole(m.nodes) + "\n#SBATCH --ntasks-per-node=1\n";
  if (!m.cpu) out += "#SBATCH --gpus-per-node=" + whole(m.gpus_per_node) + "\n";
  out +=
      "#SBATCH --output=%x-%j.log\n\nexport MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n "
      "1)\n";
  out += "srun torchrun --nnodes=\"$SLURM_NNODES\" --nproc-per-node=" + whole(m.gpus_per_node) +
         " --rdzv-id=\"$SLURM_JOB_ID\" --rdzv-backend=c10d --rdzv-endpoint=\"$MASTER_ADDR:29500\" train.py\n";
  return out;
}

std::string run_spec(const Plan& plan) {
  const Setting& s = plan.chosen.setting;
  const Shards n = shards_of(s, plan.machine);
  const double world = plan.machine.world();
  const Json spec = {{"model", "path/to/hf-folder"},
                     {"data",
                      {{"path", "path/to/data.jsonl"},
                       {"format", "messages"},
                       {"max_seq_len", static_cast<long long>(s.seq)},
                       {"packing", true}}},
                     {"output", "path/to/output"},
                     {"ranks", static_cast<long long>(world)},
                     {"epochs", 1},
                     {"max_tokens_per_rank", static_cast<long long>(s.micro_batch * s.seq)},
                     {"global_batch_size", static_cast<long long>(s.micro_batch * s.grad_accum * world)},
                     {"optimizer",
                      {{"lr", 2e-5},
                       {"betas", {0.9, 0.95}},
                       {"weight_decay", 0.1},
                       {"schedule", "cosine"},
                       {"warmup_steps", 10},
                       {"clip_grad", 1.0}}},
                     {"fsdp",
                      {{"replicate", static_cast<long long>(std::max(1.0, world / n.weights))},
                       {"shard", static_cast<long long>(n.weights)},
                       {"reshard_after_forward", s.reshard},
                       {"param_dtype", s.param_bytes > 2 ? "fp32" : "bf16"},
                       {"reduce_dtype", "fp32"},
                       {"cpu_offload", s.offload},
                       {"activation_checkpointing", s.checkpointing == Checkpointing::kFull ? "full" : "none"}}},
                     {"seed", 1}};
  return to_text(spec, 2) + "\n";
}

}  // namespace

void write_files(Plan& plan, const std::vector<std::string>& names) {
  for (const auto& name : names) {
    if (name == "accelerate") plan.files.emplace_back(name, accelerate_yaml(plan));
    if (name == "torchtitan") plan.files.emplace_back(name, torchtitan_toml(plan));
    if (name == "torchrun") plan.files.emplace_back(name, torchrun_line(plan.machine));
    if (name == "sbatch") plan.files.emplace_back(name, sbatch_file(plan.machine));
    if (name == "run_spec") plan.files.emplace_back(name, run_spec(plan));
  }
}

}  // namespace fx::knowledge::plan
