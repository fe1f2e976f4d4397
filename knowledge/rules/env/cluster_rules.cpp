// Addresses, devices and CUDA switches.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

void localhost_master(const Input& input, Hits& hits) {
  const Assignment* address = input.script.variable("MASTER_ADDR");
  if (address != nullptr && is_loopback(address->value.text) && is_multi_node(input)) hits.at(*address);
}

void master_port(const Input& input, Hits& hits) {
  const Assignment* port = input.script.variable("MASTER_PORT");
  if (port == nullptr || !port->value.resolved() || port->value.text.empty()) return;
  const auto value = to_integer(port->value.text);
  if (!value || *value < 1 || *value > 65535) hits.at(*port, quoted(port->value.text) + " is no port.");
}

// Processes a node that something in the text states.
std::optional<long long> stated_processes(const Input& input) {
  std::optional<long long> most;
  for (const auto& launch : input.launches) {
    const auto processes = processes_per_node(launch);
    if (launch.launcher == Launcher::kAccelerate && launch.flag("num_machines") == nullptr && is_multi_node(input))
      continue;
    if (processes && (!most || *processes > *most)) most = processes;
  }
  if (most) return most;
  static constexpr std::array<std::string_view, 6> names = {"NPROC_PER_NODE", "GPUS_PER_NODE",    "NUM_GPUS",
                                                            "NGPUS",          "LOCAL_WORLD_SIZE", "NGPU"};
  for (const auto name : names) {
    if (const Assignment* count = input.script.variable(name)) return to_integer(count->value.text);
  }
  const Assignment* world = input.script.variable("WORLD_SIZE");  // on one node all ranks are here
  if (world != nullptr && input.launches.empty() && input.context.nodes == 1) return to_integer(world->value.text);
  return std::nullopt;
}

void visible_devices(const Input& input, Hits& hits) {
  const Assignment* devices = input.script.variable("CUDA_VISIBLE_DEVICES");
  if (devices == nullptr || !devices->value.resolved() || trim(devices->value.text).empty()) return;
  const auto count = static_cast<long long>(split(devices->value.text, ',').size());
  const auto processes = stated_processes(input);
  if (processes && count < *processes) {
    hits.at(*devices, std::to_string(count) + " devices for " + std::to_string(*processes) + " processes.");
  }
}

void launch_blocking(const Input& input, Hits& hits) {
  const Assignment* blocking = input.script.variable("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && blocking->value.text == "1") hits.at(*blocking);
}

void max_connections(const Input& input, Hits& hits) {
  const Assignment* connections = input.script.variable("CUDA_DEVICE_MAX_CONNECTIONS");
  if (connections == nullptr || connections->value.text != "1") return;
  const std::string low = to_lower(input.text);
  const bool other =
      contains(low, "megatron") || contains(low, "--tensor-model-parallel-size") || contains(low, "deepspeed");
  const bool fsdp_backend = contains(low, "--train-backend fsdp") || contains(low, "--train-backend=fsdp");
  if (other && !fsdp_backend) return;
  hits.at(*connections);
}

}  // namespace

Rules env_cluster_rules() {
  constexpr std::uint32_t kEnv = kEnvFile | kShell;
  return {
      {"env-master-addr-localhost-multinode", Severity::kError, kEnv, localhost_master},
      {"env-master-port-invalid", Severity::kError, kEnv, master_port},
      {"env-cuda-visible-devices-mismatch", Severity::kError, kEnv, visible_devices},
      {"env-cuda-launch-blocking", Severity::kWarning, kEnv, launch_blocking},
      {"env-cuda-device-max-connections", Severity::kInfo, kEnv, max_connections},
  };
}

}  // namespace fx::knowledge
