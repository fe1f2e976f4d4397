// #SBATCH directives against the launch lines below them.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

bool is_launcher(const Launch& launch) {
  return launch.launcher == Launcher::kTorchrun || launch.launcher == Launcher::kAccelerate ||
         launch.launcher == Launcher::kTune;
}

// srun's own option, which overrides the directive for this step.
bool srun_has(const Input& input, const Launch& launch, std::string_view option) {
  for (const auto& word : input.script.commands[launch.command].words) {
    if (word.text.rfind(option, 0) == 0) return true;
  }
  return false;
}

void ntasks_per_node(const Input& input, Hits& hits) {
  const Directive* directive = input.script.directive("--ntasks-per-node");
  if (directive == nullptr || to_integer(directive->value).value_or(1) <= 1) return;
  for (const auto& launch : input.launches) {
    if (!is_launcher(launch) || !launch.under_srun || srun_has(input, launch, "--ntasks")) continue;
    const auto processes = processes_per_node(launch);
    const bool several = processes
                             ? *processes > 1
                             : launch.flag("nproc_per_node") != nullptr || launch.launcher == Launcher::kAccelerate;
    if (!several) continue;
    hits.at(*directive, "Slurm starts " + quote_input(directive->value, 10) + " launchers on each node.",
            "#SBATCH --ntasks-per-node=1");
    return;
  }
}

void procid_early(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    if (!launch.under_srun) continue;
    for (const char* name : {"node_rank", "machine_rank"}) {
      const Node* flag = launch.flag(name);
      const ShellWord* word = flag == nullptr ? nullptr : value_word(input, launch, *flag);
      if (word == nullptr) continue;
      const bool early = std::any_of(word->unresolved.begin(), word->unresolved.end(), [](const Unresolved& u) {
        return !u.in_task && (u.name == "SLURM_PROCID" || u.name == "SLURM_NODEID");
      });
      if (!early) continue;
      Hit& hit = hits.at(*flag);
      if (rendezvous_backend(launch) == "c10d") hit.severity = Severity::kWarning;
    }
  }
}

void gpus_mismatch(const Input& input, Hits& hits) {
  const GpuRequest request = gpu_request(input.script);
  if (request.directive == nullptr || !request.per_node) return;
  for (const auto& launch : input.launches) {
    const auto processes = processes_per_node(launch);
    if (!is_launcher(launch) || !processes || *processes <= 0 || *processes == *request.per_node) continue;
    if (launch.launcher == Launcher::kAccelerate && launch.flag("num_machines") == nullptr) continue;
    Hit& hit = hits.at(*request.directive, "The job asks for " + std::to_string(*request.per_node) +
                                               " GPUs a node, the launcher starts " + std::to_string(*processes) +
                                               " processes.");
    if (*processes < *request.per_node) hit.severity = Severity::kWarning;
    return;
  }
}

void nodes_mismatch(const Input& input, Hits& hits) {
  const auto nodes = sbatch_nodes(input.script);
  if (!nodes) return;
  for (const auto& launch : input.launches) {
    const Node* flag = launch.flag(launch.launcher == Launcher::kAccelerate ? "num_machines" : "nnodes");
    const auto literal = literal_nodes(launch);
    if (!is_launcher(launch) || flag == nullptr || !literal || contains(flag->text, ":") || *literal == *nodes)
      continue;
    hits.at(*input.script.directive("--nodes", "-N"),
            "The job has " + std::to_string(*nodes) + " nodes, the launcher expects " + std::to_string(*literal) + ".");
    return;
  }
}

void late_directive(const Input& input, Hits& hits) {
  for (const auto& directive : input.script.directives) {
    if (directive.after_command) hits.at(directive);
  }
}

void no_gpu_request(const Input& input, Hits& hits) {
  if (gpu_request(input.script).directive != nullptr) return;
  for (const auto& launch : input.launches) {
    const bool gpu =
        is_launcher(launch) || launch.launcher == Launcher::kDeepspeed || contains(launch.program, "verl.trainer");
    if (!gpu) continue;
    if (srun_has(input, launch, "--gpus") || srun_has(input, launch, "--gres")) return;
    hits.root();
    return;
  }
}

}  // namespace

Rules sbatch_rules() {
  return {
      {"sbatch-ntasks-per-node-torchrun", Severity::kError, kSbatchScript, ntasks_per_node},
      {"sbatch-procid-expanded-early", Severity::kError, kSbatchScript, procid_early},
      {"sbatch-gpus-mismatch-nproc", Severity::kError, kSbatchScript, gpus_mismatch},
      {"sbatch-nodes-mismatch", Severity::kError, kSbatchScript, nodes_mismatch},
      {"sbatch-directive-after-command", Severity::kWarning, kSbatchScript, late_directive},
      {"sbatch-no-gpu-request", Severity::kWarning, kSbatchScript, no_gpu_request},
  };
}

}  // namespace fx::knowledge
