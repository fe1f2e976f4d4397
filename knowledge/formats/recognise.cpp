#include "knowledge/formats/recognise.h"

#include <algorithm>

#include "base/text.h"

namespace fx::knowledge {
namespace {

// Points a key earns for a format; the best format with enough points wins.
struct Mark {
  Format format;
  std::string_view key;
  int points;
};
constexpr int kEnough = 4;

constexpr Mark kYamlMarks[] = {
    {kAccelerateYaml, "distributed_type", 5},
    {kAccelerateYaml, "compute_environment", 3},
    {kAccelerateYaml, "num_machines", 2},
    {kAccelerateYaml, "machine_rank", 2},
    {kAccelerateYaml, "num_processes", 2},
    {kAccelerateYaml, "main_training_function", 2},
    {kAccelerateYaml, "downcast_bf16", 2},
    {kAccelerateYaml, "fsdp_config", 2},
    {kAccelerateYaml, "mixed_precision", 1},
    {kAccelerateYaml, "parallelism_config", 3},
    {kAccelerateYaml, "deepspeed_config", 2},
    {kAccelerateYaml, "main_process_ip", 2},
    {kAccelerateYaml, "rdzv_backend", 1},
    {kAccelerateYaml, "same_network", 1},
    {kAccelerateYaml, "fp8_config", 1},
    {kAccelerateYaml, "use_cpu", 1},
    {kAxolotlYaml, "base_model", 5},
    {kAxolotlYaml, "sequence_len", 2},
    {kAxolotlYaml, "sample_packing", 2},
    {kAxolotlYaml, "micro_batch_size", 2},
    {kAxolotlYaml, "datasets", 2},
    {kAxolotlYaml, "num_epochs", 1},
    {kAxolotlYaml, "dataset_prepared_path", 2},
    {kAxolotlYaml, "val_set_size", 1},
    {kAxolotlYaml, "adapter", 1},
    {kAxolotlYaml, "fsdp_config", 1},
    {kAxolotlYaml, "gradient_accumulation_steps", 1},
    {kAxolotlYaml, "load_in_4bit", 1},
    {kAxolotlYaml, "pretraining_dataset", 2},
    {kAxolotlYaml, "flash_attention", 1},
    {kAxolotlYaml, "fsdp_version", 3},
    {kAxolotlYaml, "fsdp", 2},
    {kAxolotlYaml, "dp_shard_size", 3},
    {kAxolotlYaml, "dp_replicate_size", 3},
    {kAxolotlYaml, "context_parallel_size", 2},
    {kAxolotlYaml, "tensor_parallel_size", 1},
    {kLlamafactoryYaml, "model_name_or_path", 2},
    {kLlamafactoryYaml, "finetuning_type", 3},
    {kLlamafactoryYaml, "stage", 2},
    {kLlamafactoryYaml, "template", 2},
    {kLlamafactoryYaml, "cutoff_len", 2},
    {kLlamafactoryYaml, "lora_target", 2},
    {kLlamafactoryYaml, "do_train", 1},
    {kLlamafactoryYaml, "dataset_dir", 2},
    {kLlamafactoryYaml, "quantization_bit", 2},
    {kLlamafactoryYaml, "per_device_train_batch_size", 1},
    {kLlamafactoryYaml, "model_class", 3},
    {kLlamafactoryYaml, "dist_config", 3},
    {kLlamafactoryYaml, "train_dataset", 2},
    {kLlamafactoryYaml, "kernel_config", 2},
    {kLlamafactoryYaml, "sample_backend", 2},
    {kLlamafactoryYaml, "batching_strategy", 2},
    {kLlamafactoryYaml, "cp_mode", 2},
    {kLlamafactoryYaml, "overwrite_cache", 1},
    {kTorchtuneYaml, "checkpointer", 2},
    {kTorchtuneYaml, "metric_logger", 1},
    {kTorchtuneYaml, "enable_activation_checkpointing", 2},
    {kTorchtuneYaml, "fsdp_cpu_offload", 2},
    {kTorchtuneYaml, "tensor_parallel_plan", 2},
    {kTorchtuneYaml, "optimizer_in_bwd", 2},
};
constexpr Mark kJsonMarks[] = {
    {kDeepspeedJson, "zero_optimization", 5},
    {kDeepspeedJson, "train_micro_batch_size_per_gpu", 4},
    {kDeepspeedJson, "train_batch_size", 2},
    {kDeepspeedJson, "gradient_clipping", 1},
    {kDeepspeedJson, "bf16", 1},
    {kDeepspeedJson, "fp16", 1},
    {kTrainingArgsJson, "output_dir", 3},
    {kTrainingArgsJson, "per_device_train_batch_size", 4},
    {kTrainingArgsJson, "fsdp", 3},
    {kTrainingArgsJson, "fsdp_config", 3},
    {kTrainingArgsJson, "num_train_epochs", 2},
    {kTrainingArgsJson, "learning_rate", 1},
    {kTrainingArgsJson, "save_strategy", 1},
    {kTrainingArgsJson, "gradient_accumulation_steps", 1},
    {kAccelerateYaml, "distributed_type", 5},
    {kAccelerateYaml, "compute_environment", 3},
    {kAccelerateYaml, "num_machines", 2},
    {kAccelerateYaml, "fsdp_config", 2},
};
constexpr Mark kTomlMarks[] = {
    {kTorchtitanToml, "parallelism", 4},  {kTorchtitanToml, "activation_checkpoint", 3},
    {kTorchtitanToml, "training", 2},     {kTorchtitanToml, "model", 1},
    {kTorchtitanToml, "lr_scheduler", 2}, {kTorchtitanToml, "job", 2},
    {kTorchtitanToml, "metrics", 1},      {kTorchtitanToml, "checkpoint", 1},
    {kTorchtitanToml, "optimizer", 1},    {kTorchtitanToml, "profiling", 1},
    {kTorchtitanToml, "experimental", 1},
};

struct Score {
  Format format = kShell;
  int points = 0;
};

template <std::size_t N>
Score best(const Mark (&marks)[N], const KeyNames& names, Format extra, int extra_points) {
  std::vector<Score> scores;
  const auto add = [&](Format format, int points) {
    for (auto& score : scores) {
      if (score.format == format) {
        score.points += points;
        return;
      }
    }
    scores.push_back({format, points});
  };
  for (const Mark& mark : marks) {
    if (names.has(mark.key)) add(mark.format, mark.points);
  }
  if (extra_points > 0) add(extra, extra_points);
  Score winner;
  for (const auto& score : scores) {
    if (score.points > winner.points) winner = score;
  }
  return winner;
}

// Keys of a Trainer fsdp_config file, each enough of a sign to count.
int fsdp_json_points(const KeyNames& names) {
  int points = 0;
  for (std::string name : names.top) {
    const bool prefixed = name.rfind("fsdp_", 0) == 0;
    if (prefixed) name = name.substr(5);
    static const std::vector<std::string> known = {"transformer_layer_cls_to_wrap",
                                                   "min_num_params",
                                                   "reshard_after_forward",
                                                   "cpu_ram_efficient_loading",
                                                   "state_dict_type",
                                                   "auto_wrap_policy",
                                                   "backward_prefetch",
                                                   "forward_prefetch",
                                                   "sync_module_states",
                                                   "use_orig_params",
                                                   "limit_all_gathers",
                                                   "activation_checkpointing",
                                                   "xla",
                                                   "xla_fsdp_settings",
                                                   "sharding_strategy",
                                                   "offload_params",
                                                   "cpu_offload",
                                                   "xla_fsdp_v2",
                                                   "version"};
    const bool hit = std::find(known.begin(), known.end(), name) != known.end();
    points += hit ? (name == "version" && !prefixed ? 1 : 3) : prefixed ? 2 : 0;
  }
  return points;
}

// Our own run spec: several of its names, and one that no other JSON of this kind has.
bool is_run_spec(const KeyNames& names) {
  static const std::vector<std::string_view> usual = {"model",  "data",       "output", "steps",
                                                      "epochs", "checkpoint", "fsdp",   "optimizer"};
  static const std::vector<std::string_view> foreign = {"output_dir", "zero_optimization", "nodes", "architectures"};
  const bool own = names.has("ranks") || names.has("max_tokens_per_rank") || names.has_nested("max_seq_len");
  return own && names.count(usual) >= 3 && names.count(foreign) == 0;
}

void accept(Input& input, Format format) {
  input.applicable = true;
  input.format = format;
  input.formats = format;
}

bool any_word(const Input& input, std::string_view part) {
  for (const auto& command : input.script.commands) {
    for (const auto& word : command.words) {
      if (contains(word.text, part)) return true;
    }
  }
  for (const auto& assignment : input.script.assignments) {
    if (contains(assignment.value.text, part)) return true;
    for (const auto& word : assignment.items) {
      if (contains(word.text, part)) return true;
    }
  }
  return false;
}

bool has_program_flag(const Input& input, std::string_view flag) {
  return input.launch_with(flag) != nullptr;
}

// Variables that matter to a distributed run.
bool is_training_variable(std::string_view name) {
  for (const std::string_view start :
       {"NCCL_", "TORCH_", "PYTORCH_", "MASTER_", "CUDA_", "WORLD_SIZE", "RANK", "LOCAL_", "GLOO_", "FSDP_",
        "ACCELERATE_", "OMP_NUM", "HF_", "WANDB_", "NPROC", "NNODES"}) {
    if (name.substr(0, start.size()) == start) return true;
  }
  return false;
}

// A file of variables as Docker and python-dotenv read it, values unquoted: a shell would see commands in some.
bool is_dotenv(const Input& input) {
  const std::string_view path = input.filename;
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (name.substr(0, 4) != ".env" && !(name.size() > 4 && name.substr(name.size() - 4) == ".env")) return false;
  return std::ranges::all_of(split_lines(input.text), [](std::string_view raw) {
    const auto line = trim(raw);
    return line.empty() || line.front() == '#' || is_env_line(line);
  });
}

}  // namespace

void recognise_structured(Input& input, const KeyNames& names) {
  Score score;
  if (input.syntax == "yaml") {
    score = best(kYamlMarks, names, kTorchtuneYaml, names.has_nested("_component_") ? 6 : 0);
  } else if (input.syntax == "json") {
    if (is_run_spec(names)) return accept(input, kRunSpec);
    score = best(kJsonMarks, names, kFsdpConfigJson, names.has("output_dir") ? 0 : fsdp_json_points(names));
    if (score.format == kFsdpConfigJson && score.points >= 3) return accept(input, kFsdpConfigJson);
  } else {
    score = best(kTomlMarks, names, kTorchtitanToml, names.has_nested("flavor") ? 3 : 0);
    if (names.has("project") || names.has("tool") || names.has("build-system")) score.points = 0;
  }
  if (score.points >= kEnough) accept(input, score.format);
}

void recognise_script(Input& input) {
  const auto add = [&](Format format, bool present) {
    if (!present) return;
    if (!input.applicable) input.format = format;
    input.applicable = true;
    input.formats |= format;
  };
  bool torchrun = false, accelerate = false;
  for (const auto& launch : input.launches) {
    torchrun = torchrun || launch.launcher == Launcher::kTorchrun || launch.launcher == Launcher::kTune;
    accelerate = accelerate || launch.launcher == Launcher::kAccelerate;
  }
  add(kSbatchScript, !input.script.directives.empty());
  add(kVerlOverrides, any_word(input, "verl.trainer."));
  add(kSlimeCli, has_program_flag(input, "train_backend") || any_word(input, "--train-backend"));
  add(kTorchtitanCli, any_word(input, "torchtitan.train"));
  add(kTrainerCli, has_program_flag(input, "fsdp") || has_program_flag(input, "per_device_train_batch_size"));
  add(kAccelerateLaunch, accelerate);
  add(kTorchrunCommand, torchrun);
  if (!input.applicable && (input.script.only_assignments || is_dotenv(input))) {
    for (const auto& assignment : input.script.assignments) add(kEnvFile, is_training_variable(assignment.name));
  }
  if (input.applicable) input.formats |= kShell;
}

}  // namespace fx::knowledge
