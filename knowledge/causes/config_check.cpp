#include "knowledge/causes/config_check.h"

#include <array>
#include <string_view>

#include "base/text.h"

namespace fx::knowledge {
namespace {

struct Row {
  std::string_view cause;
  std::string_view keys;    // separated by '|'; the last part of a nested key is enough
  std::string_view values;  // separated by '|'; a setting's text holds one of them
  double factor;
};

constexpr std::string_view kOn = "true|1|yes|cpu";
constexpr std::string_view kOff = "false|0|no|none|null";
constexpr std::string_view kOffload =
    "fsdp_offload_params|offload_params|cpu_offload|fsdp_cpu_offload|enable_cpu_offload|offload_optimizer|param_offload|"
    "optimizer_offload|offload_policy";
constexpr std::string_view kCheckpointing =
    "gradient_checkpointing|fsdp_activation_checkpointing|activation_checkpointing|enable_gradient_checkpointing";
constexpr std::string_view kNodes = "nnodes|num_machines|num_nodes|nodes";
constexpr std::string_view kStateDict = "fsdp_state_dict_type|state_dict_type";

constexpr std::array kRows{
    Row{"cpu-offload-no-cpu-backend", kOffload, kOn, 1.04},
    Row{"cpu-offload-no-cpu-backend", kOffload, kOff, 0.8},
    Row{"cpu-offload-no-cpu-backend", "backend|ddp_backend", "cpu:gloo", 0.6},
    Row{"throughput-offload-bound", kOffload, kOn, 1.04},
    Row{"throughput-offload-bound", kOffload, kOff, 0.3},
    Row{"optimizer-state-device-mismatch", kOffload, kOn, 1.03},
    Row{"host-ram-oom-runtime", kOffload, kOn, 1.03},
    Row{"host-ram-oom-model-load", "fsdp_cpu_ram_efficient_loading|cpu_ram_efficient_loading|low_cpu_mem_usage",
        "false", 1.04},
    Row{"meta-tensor-not-materialized", "fsdp_sync_module_states|sync_module_states", "false", 1.03},
    Row{"fsdp-mixed-requires-grad", "fsdp_use_orig_params|use_orig_params", "false", 1.03},
    Row{"fsdp-mixed-requires-grad", "fsdp_use_orig_params|use_orig_params", "true", 0.6},
    Row{"gpu-oom-activations", kCheckpointing, kOff, 1.05},
    Row{"checkpoint-recompute-mismatch", kCheckpointing, kOff, 0.7},
    Row{"no-grad-through-checkpoint", kCheckpointing, kOff, 0.7},
    Row{"gpu-oom-checkpoint-save", kStateDict, "full", 1.04},
    Row{"gpu-oom-checkpoint-save", kStateDict, "sharded", 0.85},
    Row{"state-dict-partial-shards", kStateDict, "local|sharded", 1.03},
    Row{"async-save-process-group", "async_mode|async_save|async_checkpoint", "disabled|false|none", 0.6},
    Row{"non-finite-loss", "fp16", "true", 1.04},
    Row{"labels-all-masked", "fp16", "true", 0.95},
    Row{"network-path-blocked", kNodes, "1", 0.6},
    Row{"rdma-fabric-error", kNodes, "1", 0.6},
    Row{"rendezvous-missing-workers", kNodes, "1", 0.85},
    Row{"throughput-dataloader-bound", "num_workers|dataloader_num_workers", "0", 1.04},
    Row{"gpu-oom-fragmentation", "pytorch_cuda_alloc_conf|pytorch_alloc_conf", "expandable_segments:true", 0.85},
};

// The whole value for numbers and switches, a part of it for words.
bool holds(std::string_view value, std::string_view wanted) {
  for (const auto word : split(wanted, '|')) {
    if (value == word || (word.size() > 3 && value.find(word) != std::string_view::npos)) return true;
  }
  return false;
}

}  // namespace

double config_factor(const std::string& cause, const Scene& scene) {
  double factor = 1;
  for (const auto& row : kRows) {
    if (row.cause != cause) continue;
    for (const auto key : split(row.keys, '|')) {
      const std::string value = scene.setting(std::string(key));
      if (value.empty() || !holds(value, row.values)) continue;
      factor *= row.factor;
      break;
    }
  }
  return factor;
}

}  // namespace fx::knowledge
