// The launchers' own flags.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

void unknown_flag(const Input& input, Hits& hits) {
  for (const auto& launch : input.launches) {
    if (launch.launcher != Launcher::kTorchrun && launch.launcher != Launcher::kAccelerate) continue;
    const auto names = flag_names(launch.launcher == Launcher::kTorchrun ? torchrun_flags() : accelerate_flags());
    for (const Node& flag : launch.unknown.children) {
      if (hits.full()) return;
      if (flag.name == "fsdp_backward_prefetch_policy" || contains(flag.shown, "$")) continue;
      const auto near = nearest(flag.name, names);
      hits.at(flag, "",
              near ? "Write --" + *near + "." : "Remove it, or move it behind the script if the script takes it.");
    }
  }
}

void flag_after_script(const Input& input, Hits& hits) {
  static constexpr std::array<std::string_view, 8> torchrun = {"nnodes",        "nproc_per_node", "rdzv_backend",
                                                               "rdzv_endpoint", "rdzv_id",        "rdzv_conf",
                                                               "standalone",    "max_restarts"};
  static constexpr std::array<std::string_view, 6> accelerate = {"num_machines",      "machine_rank", "main_process_ip",
                                                                 "main_process_port", "use_fsdp",     "num_processes"};
  for (const auto& launch : input.launches) {
    for (const Node& argument : launch.arguments.children) {
      const bool hit = (launch.launcher == Launcher::kTorchrun &&
                        std::find(torchrun.begin(), torchrun.end(), argument.name) != torchrun.end()) ||
                       (launch.launcher == Launcher::kAccelerate &&
                        std::find(accelerate.begin(), accelerate.end(), argument.name) != accelerate.end());
      if (hit) hits.at(argument, "It stands behind the program " + quoted(launch.program) + ".");
    }
  }
}

void rank_variables(const Input& input, Hits& hits) {
  const bool torchrun = std::any_of(input.launches.begin(), input.launches.end(),
                                    [](const Launch& launch) { return launch.launcher == Launcher::kTorchrun; });
  if (!torchrun) return;
  for (const auto& assignment : input.script.assignments) {
    const bool name = assignment.name == "WORLD_SIZE" || assignment.name == "RANK" || assignment.name == "LOCAL_RANK";
    if (name && assignment.exported) hits.at(assignment);
  }
}

void exclusive_flags(const Input& input, Hits& hits) {
  static constexpr std::array<std::string_view, 5> modes = {"multi_gpu", "use_fsdp", "use_deepspeed", "cpu", "tpu"};
  for (const auto& launch : input.launches) {
    if (launch.launcher != Launcher::kAccelerate) continue;
    const Node* first = nullptr;
    std::string all;
    int count = 0;
    for (const Node& flag : launch.flags.children) {
      if (std::find(modes.begin(), modes.end(), flag.name) == modes.end()) continue;
      if (first == nullptr) first = &flag;
      all += (count++ > 0 ? ", " : "") + flag.shown;
    }
    if (count > 1) hits.at(*first, "Given together: " + all + ".");
  }
}

void flag_needs_value(const Input& input, Hits& hits) {
  static constexpr std::array<std::string_view, 6> booleans = {
      "fsdp_offload_params",   "fsdp_use_orig_params",           "fsdp_sync_module_states",
      "fsdp_forward_prefetch", "fsdp_cpu_ram_efficient_loading", "fsdp_activation_checkpointing"};
  for (const auto& launch : input.launches) {
    if (launch.launcher != Launcher::kAccelerate) continue;
    for (const Node& flag : launch.flags.children) {
      const bool boolean = std::find(booleans.begin(), booleans.end(), flag.name) != booleans.end();
      if (boolean && flag.text.empty()) hits.at(flag, "", flag.shown + " true");
    }
  }
}

}  // namespace

Rules launch_flag_rules() {
  return {
      {"launch-unknown-flag", Severity::kError, kShell, unknown_flag},
      {"launch-flag-after-script", Severity::kWarning, kShell, flag_after_script},
      {"launch-world-size-env-set-by-hand", Severity::kInfo, kShell, rank_variables},
      {"accelerate-launch-exclusive-flags", Severity::kError, kShell, exclusive_flags},
      {"accelerate-launch-flag-needs-value", Severity::kError, kShell, flag_needs_value},
  };
}

}  // namespace fx::knowledge
