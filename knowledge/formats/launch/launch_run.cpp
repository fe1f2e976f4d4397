// Machines and processes of a script: its launch lines, else its Slurm tasks.
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {

void read_launch_run(RunReader& reader) {
  Effective& run = reader.run;
  const Input& input = reader.input;
  const auto take = [&](std::optional<long long>& out, std::optional<long long> value) {
    if (!out) out = value;
  };
  for (const auto& launch : input.launches) {
    const bool accelerate = launch.launcher == Launcher::kAccelerate;
    if (!accelerate && launch.launcher != Launcher::kTorchrun && launch.launcher != Launcher::kTune) continue;
    reader.from("nodes", launch.flag(accelerate ? "num_machines" : "nnodes"));
    reader.from("processes_per_node", launch.flag(accelerate ? "num_processes" : "nproc_per_node"));
    take(run.nodes, launch_nodes(input, launch));
    take(run.processes_per_node, processes_per_node(launch));
    return;
  }
  const auto nodes = sbatch_nodes(input.script);
  const Directive* tasks = input.script.directive("--ntasks-per-node");
  for (const auto& launch : input.launches) {
    if (!launch.under_srun) continue;  // one task a rank
    take(run.nodes, nodes);
    if (tasks != nullptr) {
      Node count;
      count.text = tasks->value;
      take(run.processes_per_node, integer_of(&count));
    }
    return;
  }
}

}  // namespace fx::knowledge
