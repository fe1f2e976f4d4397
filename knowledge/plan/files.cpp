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

// The device mesh, where it is more than one dimension of shards.
std::string accelerate_mesh(const Setting& s, const Machine& m) {
  const Shards n = shards_of(s, m);
  const double shard = std::max(1.0, std::floor(n.weights / s.cp)), replicate = n.data_parallel / shard;
  if (replicate <= 1 && s.tp <= 1 && s.cp <= 1) return {};
  std::string out = "parallelism_config:\n";
  const auto add = [&](const char* name, double size) {
    out += std::string("  parallelism_config_") + name + "_size: " + whole(size) + "\n";
  };
  add("dp_replicate", replicate), add("dp_shard", shard), add("tp", s.tp), add("cp", s.cp);
  return out;
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
    out += "  fsdp_state_dict_type: SHARDED_STATE_DICT\n" + accelerate_mesh(s, m);
  }
  if (m.nodes > 1) {
    out += "# Address of the first machine; machine_rank counts from 0, another number on each machine.\n";
    out += "main_process_ip: first-machine\nmain_process_port: 29500\n";
  }
  if (s.compile) out += "dynamo_config:\n  dynamo_backend: INDUCTOR\n";
  out += "downcast_bf16: 'no'\nmachine_rank: 0\nmain_training_function: main\n";
  out += std::string("mixed_precision: ") + (s.param_bytes > 2 ? "'no'" : s.fp16 ? "fp16" : "bf16") + "\n";
  out += "num_machines: " + whole(m.nodes) + "\nnum_processes: " + whole(m.world()) +
         "\nrdzv_backend: static\nsame_network: true\n";
  out += std::string("use_cpu: ") + yes(m.cpu) + "\n";
  return out;
}

// torchtitan's name of a family; empty when it has no such model.
const char* torchtitan_name(const std::string& family) {
  if (family == "qwen3" || family == "qwen3_moe") return "qwen3";
  if (family == "deepseek_v3") return "deepseek_v3";
  return family.starts_with("llama") || family == "mistral" ? "llama3" : "";
}

std::string torchtitan_model(const Plan& plan) {
  const std::string name = torchtitan_name(plan.shape.family);
  std::string out = "[model]\n";
  if (name.empty()) out += "# torchtitan has no model of the family " + plan.shape.family + ": register yours.\n";
  out += "name = \"" + (name.empty() ? "llama3" : name) + "\"\n";
  if (plan.chosen.setting.fp8) out += "converters = [\"quantize.linear.float8\"]\n";
  return out + "\n";
}

std::string torchtitan_training(const Plan& plan) {
  const Setting& s = plan.chosen.setting;
  const double step_batch = s.micro_batch * s.grad_accum * shards_of(s, plan.machine).data_parallel;
  std::string out = "[training]\nlocal_batch_size = " + whole(s.micro_batch * (s.pp > 1 ? s.grad_accum : 1)) + "\n";
  if (s.grad_accum > 1 && s.pp <= 1) out += "global_batch_size = " + whole(step_batch) + "\n";
  out += "seq_len = " + whole(s.seq) + "\n";
  if (plan.tokens > 0) out += "steps = " + whole(std::max(1.0, std::ceil(plan.tokens / (step_batch * s.seq)))) + "\n";
  out += std::string("mixed_precision_param = \"") + (s.param_bytes > 2 ? "float32" : "bfloat16") +
         "\"\nmixed_precision_reduce = \"float32\"\n";
  return out + "enable_cpu_offload = " + yes(s.offload) + "\n\n";
}

std::string torchtitan_mesh(const Plan& plan) {
  const Setting& s = plan.chosen.setting;
  const Shards n = shards_of(s, plan.machine);
  const double replicate = is_fsdp(s.sharding) ? std::max(1.0, n.data_parallel * s.cp / n.weights) : n.data_parallel;
  const double shard = is_fsdp(s.sharding) ? n.data_parallel / replicate : 1;
  std::string out = "[parallelism]\ndata_parallel_replicate_degree = " + whole(replicate) +
                    "\ndata_parallel_shard_degree = " + whole(shard) + "\n";
  out += std::string("fsdp_reshard_after_forward = \"") + (s.reshard ? "always" : "never") + "\"\n";
  out += "tensor_parallel_degree = " + whole(s.tp) + "\npipeline_parallel_degree = " + whole(s.pp) +
         "\ncontext_parallel_degree = " + whole(s.cp) + "\n";
  if (s.pp > 1) out += "pipeline_parallel_microbatch_size = " + whole(s.micro_batch) + "\n";
  if (s.ep > 1) out += "expert_parallel_degree = " + whole(s.ep) + "\n";
  return out + "\n";
}

std::string torchtitan_toml(const Plan& plan) {
  const Setting& s = plan.chosen.setting;
  std::string out = torchtitan_model(plan) + torchtitan_training(plan) + torchtitan_mesh(plan);
  const bool selective =
      s.checkpointing == Checkpointing::kSelective || s.checkpointing == Checkpointing::kSelectiveLayer;
  out += std::string("[activation_checkpoint]\nmode = \"") +
         (selective ? "selective" : std::string(to_string(s.checkpointing))) + "\"\n";
  if (selective) {
    out +=
        std::string("selective_ac_option = \"") + (s.checkpointing == Checkpointing::kSelective ? "op" : "2") + "\"\n";
  }
  return out + "\n[compile]\nenable = " + yes(s.compile) + "\n";
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

constexpr double kEngineProjections = 7;  // of a block, all of which may have adapters

// Our engine recomputes whole blocks: all, every second one, or none.
const char* engine_checkpointing(Checkpointing c) {
  return c == Checkpointing::kFull ? "full" : c == Checkpointing::kNone ? "none" : "selective";
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
                       {"activation_checkpointing", engine_checkpointing(s.checkpointing)}}},
                     {"seed", 1}};
  Json out = spec;
  if (is_lora(s)) {
    // Two are the planner's usual targets.
    const Json targets = s.adapted_modules == kEngineProjections ? Json{"all-linear"} : Json{"q_proj", "v_proj"};
    out["lora"] = {{"rank", static_cast<long long>(s.lora_rank)}, {"target_modules", targets}};
  }
  return to_text(out, 2) + "\n";
}

// Why a program cannot run this setting; empty when it can.
std::string beyond_accelerate(const Setting& s, const Machine& m) {
  if (s.pp > 1) return "it has no pipeline";
  if (s.ep > 1) return "it has no expert parallelism";
  if (s.cp > 1 && shards_of(s, m).weights <= s.cp) return "its context parallelism needs ranks left to shard over";
  return {};
}
std::string beyond_torchtitan(const Setting& s) {
  return is_lora(s) ? "it trains all weights, not adapters" : "";
}
std::string beyond_engine(const Setting& s) {
  if (s.quant != Quant::kNone) return "our engine has no quantized base";
  if (is_lora(s) && s.adapted_modules != 2 && s.adapted_modules != kEngineProjections) {
    return "it would have to name the adapted projections: write lora.target_modules by hand";
  }
  if (s.tp * s.pp * s.cp * s.ep > 1) return "our engine shards over data-parallel ranks only";
  if (s.optimizer != Optimizer::kAdamw && s.optimizer != Optimizer::kAdamwFused) return "our engine has AdamW only";
  return {};
}

void write_file(Plan& plan, const std::string& name) {
  const Setting& s = plan.chosen.setting;
  const auto unless = [&](const std::string& why, std::string (*write)(const Plan&)) {
    if (why.empty()) return plan.files.emplace_back(name, write(plan)), void();
    plan.assumptions.push_back("no " + name + " file: " + why);
  };
  if (name == "torchtitan") return unless(beyond_torchtitan(s), torchtitan_toml);
  if (name == "run_spec") return unless(beyond_engine(s), run_spec);
  if (name == "accelerate") return unless(beyond_accelerate(s, plan.machine), accelerate_yaml);
  plan.files.emplace_back(name, name == "torchrun" ? torchrun_line(plan.machine) : sbatch_file(plan.machine));
}

}  // namespace

void write_files(Plan& plan, const std::vector<std::string>& names) {
  for (const auto& name : names) write_file(plan, name);
}

}  // namespace fx::knowledge::plan
