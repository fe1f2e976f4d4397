#include "knowledge/formats/accelerate/accelerate.h"

#include <algorithm>
#include <cctype>

namespace fx::knowledge {

AccelerateView::AccelerateView(const Input& input) {
  if (input.is(kAccelerateYaml)) root_ = &input.root();
  for (const auto& launch : input.launches) {
    if (root_ == nullptr && launch_ == nullptr && launch.launcher == Launcher::kAccelerate) launch_ = &launch;
  }
}

const Node* AccelerateView::top(std::string_view name) const {
  if (root_ != nullptr) return root_->find(name);
  return launch_ != nullptr ? launch_->flags.find(name) : nullptr;
}

const Node* AccelerateView::block() const {
  return root_ != nullptr ? root_->find("fsdp_config") : nullptr;
}

const Node* AccelerateView::fsdp(const std::string& name) const {
  if (root_ == nullptr) return top("fsdp_" + name);
  const Node* config = block();
  if (config == nullptr) return nullptr;
  const Node* prefixed = config->find("fsdp_" + name);
  return prefixed != nullptr ? prefixed : config->find(name);
}

const Node* AccelerateView::mesh_block() const {
  return root_ != nullptr ? root_->find("parallelism_config") : nullptr;
}

const Node* AccelerateView::mesh(const std::string& name) const {
  if (root_ == nullptr) return top("parallelism_config_" + name);
  const Node* config = mesh_block();
  return config != nullptr ? config->find("parallelism_config_" + name) : nullptr;
}

long long AccelerateView::mesh_size(const std::string& name) const {
  return integer_of(mesh(name)).value_or(1);
}

bool AccelerateView::fsdp_on() const {
  if (root_ == nullptr) return top("use_fsdp") != nullptr;
  return text_of(root_->find("distributed_type")) == "FSDP";
}

bool AccelerateView::has_fsdp_keys() const {
  if (root_ != nullptr) return is_set(block());
  if (launch_ == nullptr) return false;
  return std::any_of(launch_->flags.children.begin(), launch_->flags.children.end(),
                     [](const Node& flag) { return flag.name.rfind("fsdp_", 0) == 0; });
}

int AccelerateView::version() const {
  const Node* node = fsdp("version");
  if (node == nullptr || node->is_null()) return 1;
  const auto value = integer_of(node);
  return value && (*value == 1 || *value == 2) ? static_cast<int>(*value) : 0;
}

std::string AccelerateView::strategy() const {
  std::string text = text_of(fsdp("sharding_strategy"));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (text.empty()) return "FULL_SHARD";
  if (text.size() == 1 && text[0] >= '1' && text[0] <= '5')
    return sharding_strategies()[static_cast<std::size_t>(text[0] - '1')];
  return text;
}

std::optional<long long> AccelerateView::processes() const {
  return integer_of(top("num_processes"));
}
std::optional<long long> AccelerateView::machines() const {
  const Node* node = top("num_machines");
  return node == nullptr ? std::optional<long long>(1) : integer_of(node);
}

const std::vector<std::string>& accelerate_top_keys() {
  static const std::vector<std::string> keys = {"compute_environment",
                                                "distributed_type",
                                                "mixed_precision",
                                                "use_cpu",
                                                "debug",
                                                "num_processes",
                                                "machine_rank",
                                                "num_machines",
                                                "gpu_ids",
                                                "main_process_ip",
                                                "main_process_port",
                                                "rdzv_backend",
                                                "same_network",
                                                "main_training_function",
                                                "enable_cpu_affinity",
                                                "fp8_config",
                                                "deepspeed_config",
                                                "fsdp_config",
                                                "parallelism_config",
                                                "megatron_lm_config",
                                                "ipex_config",
                                                "mpirun_config",
                                                "downcast_bf16",
                                                "tpu_name",
                                                "tpu_zone",
                                                "tpu_use_cluster",
                                                "tpu_use_sudo",
                                                "command_file",
                                                "commands",
                                                "tpu_vm",
                                                "tpu_env",
                                                "dynamo_config"};
  return keys;
}

const std::vector<std::string>& accelerate_fsdp_keys() {
  static const std::vector<std::string> keys = {
      "version",         "sharding_strategy",        "reshard_after_forward",
      "offload_params",  "auto_wrap_policy",         "transformer_layer_cls_to_wrap",
      "min_num_params",  "backward_prefetch",        "forward_prefetch",
      "use_orig_params", "sync_module_states",       "cpu_ram_efficient_loading",
      "state_dict_type", "activation_checkpointing", "activation_checkpointing_offload",
      "ignored_modules"};
  return keys;
}

const std::vector<std::string>& accelerate_mesh_keys() {
  static const std::vector<std::string> keys = {
      "dp_replicate_size",     "dp_shard_size", "tp_size",    "cp_size",       "sp_size",
      "cp_comm_strategy",      "cp_backend",    "sp_backend", "sp_seq_length", "sp_seq_length_is_variable",
      "sp_attn_implementation"};
  return keys;
}

const std::vector<std::string>& sharding_strategies() {
  static const std::vector<std::string> names = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD",
                                                 "HYBRID_SHARD_ZERO2"};
  return names;
}

}  // namespace fx::knowledge
