// NCCL and TORCH_NCCL variables.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

// TORCH_NCCL_ names that PyTorch reads (2.2 to 2.14); integer: parsed as a number, everything else as a boolean or
// text.
struct TorchNccl {
  std::string_view name;
  bool integer;
};
constexpr TorchNccl kTorchNccl[] = {
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", true},
    {"TORCH_NCCL_BLOCKING_WAIT", false},
    {"TORCH_NCCL_DESYNC_DEBUG", false},
    {"TORCH_NCCL_ENABLE_TIMING", false},
    {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", true},
    {"TORCH_NCCL_ENABLE_MONITORING", false},
    {"TORCH_NCCL_DUMP_ON_TIMEOUT", false},
    {"TORCH_NCCL_TRACE_BUFFER_SIZE", true},
    {"TORCH_NCCL_TRACE_CPP_STACK", false},
    {"TORCH_NCCL_AVOID_RECORD_STREAMS", false},
    {"TORCH_NCCL_COORD_CHECK_MILSEC", true},
    {"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", true},
    {"TORCH_NCCL_NAN_CHECK", false},
    {"TORCH_NCCL_USE_COMM_NONBLOCKING", false},
    {"TORCH_NCCL_NONBLOCKING_TIMEOUT", true},
    {"TORCH_NCCL_HIGH_PRIORITY", false},
    {"TORCH_NCCL_LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN", false},
    {"TORCH_NCCL_CUDA_EVENT_CACHE", false},
    {"TORCH_NCCL_CUDA_EVENT_CACHE_DISABLE", false},
    {"TORCH_NCCL_PROPAGATE_ERROR", false},
    {"TORCH_NCCL_RETHROW_CUDA_ERRORS", false},
    {"TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK", false},
    {"TORCH_NCCL_EXTRA_DUMP_ON_EXEC", false},
    {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", false},
    {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", false},
    {"TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", false},
    {"TORCH_NCCL_RANKS_PER_ROOT", true},
};

const Assignment* variable(const Input& input, std::string_view name) {
  return input.script.variable(name);
}

bool is_one(const Assignment* assignment) {
  return assignment != nullptr && (assignment->value.text == "1" || to_lower(assignment->value.text) == "true");
}

void renamed(const Input& input, Hits& hits) {
  for (const char* name :
       {"NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT", "NCCL_DESYNC_DEBUG", "NCCL_ENABLE_TIMING"}) {
    if (const Assignment* old = variable(input, name)) hits.at(*old, "", "Write TORCH_" + std::string(name) + ".");
  }
}

void invalid_value(const Input& input, Hits& hits) {
  for (const auto& row : kTorchNccl) {
    const Assignment* assignment = row.integer ? variable(input, row.name) : nullptr;
    if (assignment == nullptr || !assignment->value.resolved() || assignment->value.text.empty()) continue;
    const auto value = to_integer(assignment->value.text);
    const bool handling = row.name == "TORCH_NCCL_ASYNC_ERROR_HANDLING";
    if (!value || (handling && (*value < 0 || *value > 3))) {
      hits.at(*assignment,
              quoted(assignment->value.text) + (handling ? " is not 0, 1, 2 or 3." : " is no whole number."),
              handling ? "" : "A whole number.");
    }
  }
}

void needs_buffer(const Input& input, Hits& hits) {
  const Assignment* dump = variable(input, "TORCH_NCCL_DUMP_ON_TIMEOUT");
  if (!is_one(dump)) return;
  for (const char* name : {"TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"}) {
    const Assignment* size = variable(input, name);
    if (size != nullptr && to_integer(size->value.text).value_or(1) > 0) return;
  }
  hits.at(*dump);
}

void blocking_and_async(const Input& input, Hits& hits) {
  const Assignment* wait = variable(input, "TORCH_NCCL_BLOCKING_WAIT");
  const Assignment* handling = variable(input, "TORCH_NCCL_ASYNC_ERROR_HANDLING");
  if (is_one(wait) && handling != nullptr && to_integer(handling->value.text).value_or(0) != 0) hits.at(*wait);
}

void obsolete(const Input& input, Hits& hits) {
  if (const Assignment* old = variable(input, "TORCH_NCCL_AVOID_RECORD_STREAMS")) hits.at(*old);
}

void unknown_name(const Input& input, Hits& hits) {
  std::vector<std::string> names;
  for (const auto& row : kTorchNccl) names.emplace_back(row.name);
  for (const auto& assignment : input.script.assignments) {
    if (assignment.name.rfind("TORCH_NCCL_", 0) != 0 || hits.full()) continue;
    if (std::find(names.begin(), names.end(), assignment.name) != names.end()) continue;
    const auto near = nearest(assignment.name, names);
    Hit& hit = hits.at(assignment, near ? "The nearest name that PyTorch reads is " + *near + "." : "",
                       near ? "Write " + *near + "." : "");
    if (near) hit.changes = {{Change::Kind::kRename, place_of(assignment), *near, "", {}}};
  }
}

void debug_left_on(const Input& input, Hits& hits) {
  const Assignment* debug = variable(input, "NCCL_DEBUG");
  if (debug == nullptr) return;
  const std::string value = to_lower(debug->value.text);
  if (value == "trace" || (value == "info" && is_multi_node(input))) hits.at(*debug, "", "NCCL_DEBUG=WARN");
}

bool several_gpus(const Input& input) {
  if (input.context.gpus) return *input.context.gpus > 1;
  for (const auto& launch : input.launches) {
    if (const auto processes = processes_per_node(launch)) return *processes > 1;
  }
  if (const auto request = gpu_request(input.script); request.per_node) return *request.per_node > 1;
  const Assignment* devices = variable(input, "CUDA_VISIBLE_DEVICES");
  if (devices != nullptr && devices->value.resolved()) return contains(devices->value.text, ",");
  return input.is(kSbatchScript | kTorchrunCommand | kAccelerateLaunch);
}

void p2p_disable(const Input& input, Hits& hits) {
  const Assignment* disable = variable(input, "NCCL_P2P_DISABLE");
  if (is_one(disable) && several_gpus(input)) hits.at(*disable);
}

void ib_disable(const Input& input, Hits& hits) {
  const Assignment* disable = variable(input, "NCCL_IB_DISABLE");
  if (is_one(disable) && is_multi_node(input)) hits.at(*disable);
}

void loopback_interface(const Input& input, Hits& hits) {
  if (!is_multi_node(input)) return;
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    const Assignment* interface = variable(input, name);
    if (interface != nullptr && (interface->value.text == "lo" || interface->value.text == "=lo")) hits.at(*interface);
  }
}

}  // namespace

Rules env_nccl_rules() {
  constexpr std::uint32_t kEnv = kEnvFile | kShell;
  return {
      {"env-nccl-var-renamed", Severity::kWarning, kEnv, renamed},
      {"env-torch-nccl-invalid-value", Severity::kError, kEnv, invalid_value},
      {"env-torch-nccl-dump-needs-buffer", Severity::kWarning, kEnv, needs_buffer},
      {"env-torch-nccl-blocking-and-async", Severity::kWarning, kEnv, blocking_and_async},
      {"env-torch-nccl-obsolete", Severity::kInfo, kEnv, obsolete},
      {"env-unknown-torch-nccl-var", Severity::kWarning, kEnv, unknown_name},
      {"env-nccl-debug-left-on", Severity::kInfo, kEnv, debug_left_on},
      {"env-nccl-p2p-disable", Severity::kWarning, kEnv, p2p_disable},
      {"env-nccl-ib-disable", Severity::kWarning, kEnv, ib_disable},
      {"env-nccl-socket-ifname-loopback", Severity::kError, kEnv, loopback_interface},
  };
}

}  // namespace fx::knowledge
