// Processes, machines and GPUs.
#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = AccelerateView;
constexpr std::uint32_t kBoth = kAccelerateYaml | kAccelerateLaunch;

std::string number(long long value) {
  return std::to_string(value);
}

void hybrid_exceeds_world(const Input& input, Hits& hits) {
  const V view(input);
  const auto processes = view.processes();
  if (view.version() != 1 || view.strategy() != "HYBRID_SHARD" || view.machines() != 1 || !processes ||
      !input.context.gpus)
    return;
  if (input.context.nodes.value_or(1) == 1 && *processes < *input.context.gpus) {
    hits.at(*view.fsdp("sharding_strategy"),
            number(*processes) + " processes on a node with " + number(*input.context.gpus) + " GPUs.");
  }
}

void hybrid_single_node(const Input& input, Hits& hits) {
  const V view(input);
  const auto processes = view.processes();
  if (view.version() != 1 || view.strategy() != "HYBRID_SHARD" || view.machines() != 1 || !processes) return;
  if (view.is_yaml() && !view.fsdp_on()) return;
  if (!input.context.gpus || *processes >= *input.context.gpus) hits.at(*view.fsdp("sharding_strategy"));
}

void single_process(const Input& input, Hits& hits) {
  const V view(input);
  if (view.fsdp_on() && view.version() == 1 && view.processes() == 1 && view.machines() == 1)
    hits.at(*view.top("num_processes"));
}

void processes_missing(const Input& input, Hits& hits) {
  const V view(input);
  if (view.fsdp_on() && view.top("num_processes") == nullptr) hits.root();
}

void below_machines(const Input& input, Hits& hits) {
  const V view(input);
  const auto processes = view.processes(), machines = view.machines();
  if (processes && machines && *processes < *machines && view.top("num_machines") != nullptr) {
    hits.at(*view.top("num_processes"), number(*processes) + " processes for " + number(*machines) + " machines.");
  }
}

void not_divisible(const Input& input, Hits& hits) {
  const V view(input);
  const auto processes = view.processes(), machines = view.machines();
  if (processes && machines && *machines > 1 && *processes > *machines && *processes % *machines != 0) {
    hits.at(*view.top("num_processes"), number(*processes) + " is no multiple of " + number(*machines) + " machines.",
            "num_processes: " + number(*machines * (*processes / *machines + 1)) + " or another multiple of " +
                number(*machines));
  }
}

void not_total(const Input& input, Hits& hits) {
  const V view(input);
  const auto processes = view.processes(), machines = view.machines();
  if (processes && machines && *machines > 1 && input.context.gpus && *processes == *input.context.gpus) {
    hits.at(*view.top("num_processes"),
            "There are " + number(*machines) + " machines with " + number(*input.context.gpus) + " GPUs each.",
            "num_processes: " + number(*machines * *input.context.gpus));
  }
}

void missing_ip(const Input& input, Hits& hits) {
  const V view(input);
  const auto machines = view.machines();
  const std::string backend = to_lower(text_of(view.top("rdzv_backend")));
  if (!machines || *machines <= 1 || (!backend.empty() && backend != "static")) return;
  if (is_set(view.top("main_process_ip")) && is_set(view.top("main_process_port"))) return;
  hits.at(*view.top("num_machines"),
          is_set(view.top("main_process_ip")) ? "main_process_port is missing." : "main_process_ip is missing.");
}

void machine_rank(const Input& input, Hits& hits) {
  const V view(input);
  const auto rank = integer_of(view.top("machine_rank")), machines = view.machines();
  if (rank && machines && (*rank >= *machines || *rank < 0)) {
    hits.at(*view.top("machine_rank"), "Rank " + number(*rank) + " of " + number(*machines) + " machines.",
            "machine_rank: a number from 0 to " + number(*machines - 1));
  }
}

}  // namespace

Rules accelerate_world_rules() {
  return {
      {"accelerate-hybrid-shard-exceeds-world", Severity::kError, kBoth, hybrid_exceeds_world},
      {"accelerate-hybrid-shard-single-node", Severity::kInfo, kBoth, hybrid_single_node},
      {"fsdp1-single-process", Severity::kWarning, kBoth, single_process},
      {"accelerate-num-processes-missing", Severity::kInfo, kAccelerateYaml, processes_missing},
      {"accelerate-num-processes-below-machines", Severity::kError, kBoth, below_machines},
      {"accelerate-num-processes-not-divisible", Severity::kError, kBoth, not_divisible},
      {"accelerate-num-processes-not-total", Severity::kWarning, kBoth, not_total},
      {"accelerate-multinode-missing-ip", Severity::kError, kAccelerateYaml, missing_ip},
      {"accelerate-machine-rank-out-of-range", Severity::kError, kBoth, machine_rank},
  };
}

}  // namespace fx::knowledge
