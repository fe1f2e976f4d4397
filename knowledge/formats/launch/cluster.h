// Nodes, processes and GPUs that a script's launch lines, directives and context agree on.
#pragma once

#include <optional>
#include <string>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

// Nodes of one launch: a literal --nnodes / --num_machines (the larger end of MIN:MAX), the context's where it is a
// variable; 1 where torchrun has no flag; nullopt where accelerate leaves it to its yaml.
std::optional<long long> launch_nodes(const Input& input, const Launch& launch);
// The same, but only a number that is written down.
std::optional<long long> literal_nodes(const Launch& launch);
std::optional<long long> processes_per_node(const Launch& launch);
// A GPU request of an sbatch script and its number of GPUs a node.
struct GpuRequest {
  const Directive* directive = nullptr;
  std::optional<long long> per_node;
};
GpuRequest gpu_request(const ShellScript& script);
std::optional<long long> sbatch_nodes(const ShellScript& script);
// More than one node, as far as anything says so.
bool is_multi_node(const Input& input);
bool is_loopback(const std::string& host);
std::string endpoint_host(const std::string& endpoint);
std::string endpoint_port(const std::string& endpoint);  // "" when absent
std::string rendezvous_backend(const Launch& launch);    // "static", "c10d", ...
// The word in which the value of a flag stands; nullptr when it cannot be found again.
const ShellWord* value_word(const Input& input, const Launch& launch, const Node& flag);
// Words that may hold further arguments ("${ARGS[@]}" of an array we do not know). The script's own "$@" counts as
// empty: the file is judged as it stands.
bool has_open_arguments(const Launch& launch);
// The command hands on the script's own arguments.
bool passes_script_arguments(const Launch& launch);

}  // namespace fx::knowledge
