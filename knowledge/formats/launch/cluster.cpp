#include "knowledge/formats/launch/cluster.h"

#include <algorithm>

#include "base/text.h"

namespace fx::knowledge {
namespace {

const Node* nodes_flag(const Launch& launch) {
  return launch.flag(launch.launcher == Launcher::kAccelerate ? "num_machines" : "nnodes");
}

}  // namespace

std::optional<long long> literal_nodes(const Launch& launch) {
  const Node* flag = nodes_flag(launch);
  if (flag == nullptr) return std::nullopt;
  const auto colon = flag->text.rfind(':');
  return to_integer(trim(colon == std::string::npos ? flag->text : flag->text.substr(colon + 1)));
}

std::optional<long long> launch_nodes(const Input& input, const Launch& launch) {
  const Node* flag = nodes_flag(launch);
  if (flag == nullptr) {
    return launch.launcher == Launcher::kAccelerate ? std::nullopt : std::optional<long long>(1);
  }
  if (const auto literal = literal_nodes(launch)) return literal;
  if (const auto slurm = sbatch_nodes(input.script)) return slurm;
  return input.context.nodes;
}

std::optional<long long> processes_per_node(const Launch& launch) {
  if (launch.launcher != Launcher::kAccelerate) {
    const Node* flag = launch.flag("nproc_per_node");
    return flag == nullptr ? std::nullopt : to_integer(flag->text);
  }
  const auto processes = integer_of(launch.flag("num_processes"));
  if (!processes) return std::nullopt;
  const Node* machines = launch.flag("num_machines");
  const auto count = machines == nullptr ? std::optional<long long>(1) : integer_of(machines);
  if (!count || *count <= 0) return std::nullopt;
  return *processes / *count;
}

GpuRequest gpu_request(const ShellScript& script) {
  GpuRequest out;
  for (const auto& directive : script.directives) {
    if (directive.after_command) continue;
    const bool gres = directive.name == "--gres" && contains(directive.value, "gpu");
    const bool named = directive.name == "--gpus-per-node" || directive.name == "--gpus-per-task" ||
                       directive.name == "--gpus" || directive.name == "-G" || directive.name == "--gpus-per-socket";
    if (!gres && !named) continue;
    out.directive = &directive;
    const auto colon = directive.value.rfind(':');
    auto count = to_integer(colon == std::string::npos ? directive.value : directive.value.substr(colon + 1));
    if (gres && colon == std::string::npos) count = 1;
    if (directive.name == "--gpus-per-socket") count.reset();
    if (directive.name == "--gpus-per-task") {
      const Directive* tasks = script.directive("--ntasks-per-node");
      const auto per_node = tasks == nullptr ? std::optional<long long>(1) : to_integer(tasks->value);
      count = count && per_node ? std::optional<long long>(*count * *per_node) : std::nullopt;
    }
    if ((directive.name == "--gpus" || directive.name == "-G") && count) {
      const auto nodes = sbatch_nodes(script).value_or(1);
      count = nodes > 0 && *count % nodes == 0 ? std::optional<long long>(*count / nodes) : std::nullopt;
    }
    out.per_node = count;
    return out;
  }
  return out;
}

std::optional<long long> sbatch_nodes(const ShellScript& script) {
  const Directive* directive = script.directive("--nodes", "-N");
  return directive == nullptr ? std::nullopt : to_integer(directive->value);
}

bool is_multi_node(const Input& input) {
  if (const auto nodes = sbatch_nodes(input.script)) return *nodes > 1;
  for (const auto& launch : input.launches) {
    if (literal_nodes(launch).value_or(1) > 1) return true;
  }
  for (const char* name : {"NNODES", "NUM_NODES", "SLURM_NNODES", "NODES"}) {
    const Assignment* nodes = input.script.variable(name);
    if (nodes != nullptr && to_integer(nodes->value.text).value_or(1) > 1) return true;
  }
  return input.context.nodes.value_or(1) > 1;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.rfind("127.", 0) == 0 || host == "0.0.0.0" || host == "::1";
}

std::string endpoint_host(const std::string& endpoint) {
  return endpoint.substr(0, endpoint.rfind(':'));
}
std::string endpoint_port(const std::string& endpoint) {
  const auto colon = endpoint.rfind(':');
  return colon == std::string::npos ? "" : endpoint.substr(colon + 1);
}

std::string rendezvous_backend(const Launch& launch) {
  const Node* flag = launch.flag("rdzv_backend");
  if (flag != nullptr) return to_lower(flag->text);
  return launch.flag("standalone") != nullptr ? "c10d" : "static";
}

const ShellWord* value_word(const Input& input, const Launch& launch, const Node& flag) {
  const auto& words = input.script.commands[launch.command].words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].line != flag.line || words[i].column != flag.column) continue;
    if (contains(words[i].text, "=") || i + 1 == words.size()) return &words[i];
    return &words[i + 1];
  }
  return nullptr;
}

namespace {

bool is_script_arguments(const ShellWord& word) {
  return word.text == "$@" || word.text == "$*" || word.text == "$";
}

}  // namespace

bool passes_script_arguments(const Launch& launch) {
  return std::any_of(launch.words.begin(), launch.words.end(), is_script_arguments);
}

bool has_open_arguments(const Launch& launch) {
  bool after_flag = false;
  for (const auto& word : launch.words) {
    if (!after_flag && !word.text.empty() && word.text[0] == '$' && !is_script_arguments(word)) return true;
    after_flag = word.text.rfind("--", 0) == 0 && !contains(word.text, "=");
  }
  return false;
}

}  // namespace fx::knowledge
