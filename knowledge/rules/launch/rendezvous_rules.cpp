// Where the nodes of a launch meet.
#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

bool is_torchrun(const Launch& launch) {
  return launch.launcher == Launcher::kTorchrun || launch.launcher == Launcher::kTune;
}

void standalone_multinode(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    const Node* flag = launch.flag("standalone");
    if (flag != nullptr && launch_nodes(input, launch).value_or(1) > 1) hits.at(*flag);
  }
}

void localhost_multinode(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    if (launch_nodes(input, launch).value_or(1) <= 1) continue;
    for (const char* name : {"rdzv_endpoint", "master_addr", "main_process_ip"}) {
      const Node* flag = launch.flag(name);
      if (flag == nullptr) continue;
      const std::string host =
          flag->name == "rdzv_endpoint" && contains(flag->text, ":") ? endpoint_host(flag->text) : flag->text;
      if (is_loopback(host))
        hits.at(*flag, "The launch has " + std::to_string(*launch_nodes(input, launch)) + " nodes, the address is " +
                           quoted(host) + ".");
    }
  }
}

void missing_endpoint(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    const Node* nnodes = launch.flag("nnodes");
    if (!is_torchrun(launch) || nnodes == nullptr || launch_nodes(input, launch).value_or(1) <= 1) continue;
    if (is_set(launch.flag("rdzv_endpoint")) || launch.flag("standalone") != nullptr) continue;
    const std::string backend = rendezvous_backend(launch);
    if (backend == "static" && is_set(launch.flag("master_addr"))) continue;
    hits.at(*nnodes, backend == "static" ? "The static rendezvous has no --master_addr."
                                         : "The " + quote_input(backend, 20) + " rendezvous has no --rdzv_endpoint.");
  }
}

void port_zero(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    const Node* flag = launch.flag("rdzv_endpoint");
    if (flag != nullptr && endpoint_port(flag->text) == "0" && launch_nodes(input, launch).value_or(1) > 1)
      hits.at(*flag);
  }
}

void node_rank_ignored(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    const Node* flag = launch.flag("node_rank");
    if (is_torchrun(launch) && flag != nullptr && rendezvous_backend(launch) == "c10d") hits.at(*flag);
  }
}

void master_addr_ignored(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    if (!is_torchrun(launch) || rendezvous_backend(launch) != "c10d" || launch.flag("rdzv_endpoint") == nullptr)
      continue;
    const Node* flag = launch.flag("master_addr") != nullptr ? launch.flag("master_addr") : launch.flag("master_port");
    if (flag != nullptr) hits.at(*flag);
  }
}

bool is_random(const ShellWord& word, bool in_task_only) {
  for (const auto& unresolved : word.unresolved) {
    const bool random = unresolved.name == "RANDOM" || unresolved.name == "SRANDOM" || unresolved.name == "$(";
    if (random && (!in_task_only || unresolved.in_task)) return true;
  }
  return false;
}

void random_id(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    const Node* flag = launch.flag("rdzv_id");
    if (flag == nullptr || launch_nodes(input, launch).value_or(1) <= 1) continue;
    const ShellWord* word = value_word(input, launch, *flag);
    const bool batch = input.is(kSbatchScript);
    if (word == nullptr || !is_random(*word, batch)) continue;
    if (!batch && launch.under_srun && !launch.in_task) continue;
    if (contains(flag->text, "RANDOM") || contains(flag->text, "$(")) hits.at(*flag);
  }
}

void exceeds_gpus(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    const auto processes = processes_per_node(launch);
    auto gpus = input.context.gpus;
    if (const auto request = gpu_request(input.script); !gpus) gpus = request.per_node;
    if (!processes || !gpus || *processes <= *gpus) continue;
    const Node* flag =
        launch.flag("nproc_per_node") != nullptr ? launch.flag("nproc_per_node") : launch.flag("num_processes");
    if (flag == nullptr) continue;
    // accelerate's number is a total; without --num_machines its yaml may spread it over several.
    if (launch.launcher == Launcher::kAccelerate && launch.flag("num_machines") == nullptr &&
        input.context.nodes.value_or(1) > 1)
      continue;
    hits.at(*flag, std::to_string(*processes) + " processes on a node with " + std::to_string(*gpus) + " GPUs.",
            flag->shown + " " + std::to_string(*gpus) + " at most");
  }
}

}  // namespace

Rules launch_rendezvous_rules() {
  return {
      {"launch-nproc-exceeds-gpus", Severity::kError, kShell, exceeds_gpus},
      {"launch-standalone-multinode", Severity::kError, kShell, standalone_multinode},
      {"launch-rdzv-localhost-multinode", Severity::kError, kShell, localhost_multinode},
      {"launch-multinode-missing-endpoint", Severity::kError, kShell, missing_endpoint},
      {"launch-port-zero-multinode", Severity::kError, kShell, port_zero},
      {"launch-node-rank-ignored-c10d", Severity::kWarning, kShell, node_rank_ignored},
      {"launch-master-addr-ignored-c10d", Severity::kWarning, kShell, master_addr_ignored},
      {"launch-rdzv-id-random-per-node", Severity::kError, kShell, random_id},
  };
}

}  // namespace fx::knowledge
