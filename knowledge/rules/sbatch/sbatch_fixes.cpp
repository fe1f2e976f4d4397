#include "knowledge/formats/launch/cluster.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

// The launcher follows the job.
Changes nodes_of_job(const Input& input, const Hit&) {
  for (const Launch& launch : input.launches) {
    const Node* flag = launch.flag(launch.launcher == Launcher::kAccelerate ? "num_machines" : "nnodes");
    if (flag != nullptr && literal_nodes(launch)) return set_at(place_of(*flag), "$SLURM_NNODES");
  }
  return {};
}

const Directive* first_directive(const Input& input) {
  for (const Directive& one : input.script.directives) {
    if (!one.after_command) return &one;
  }
  return nullptr;
}

Changes to_the_top(const Input& input, const Hit& hit) {
  const Directive* first = first_directive(input);
  if (first == nullptr) return {};
  return {{Change::Kind::kLift, place_of(hit), "", "", {}, {"#SBATCH " + first->name, first->line, first->column}}};
}

Changes gpu_request_line(const Input& input, const Hit&) {
  const Directive* first = first_directive(input);
  auto gpus = input.context.gpus;
  for (const Launch& launch : input.launches) {
    if (!gpus && launch.launcher == Launcher::kTorchrun) gpus = processes_per_node(launch);
  }
  if (first == nullptr || !gpus) return {};
  return {{Change::Kind::kBeside,
           {"#SBATCH " + first->name, first->line, first->column},
           "--gpus-per-node",
           std::to_string(*gpus),
           {}}};
}

}  // namespace

Fixes sbatch_fixes() {
  return {
      {"sbatch-ntasks-per-node-torchrun", set_it("1")},
      {"sbatch-nodes-mismatch", nodes_of_job},
      {"sbatch-directive-after-command", to_the_top},
      {"sbatch-no-gpu-request", gpu_request_line},
  };
}

}  // namespace fx::knowledge
