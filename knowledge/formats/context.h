// What the caller knows about the run beside the file: the cluster, the model, the installed versions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "knowledge/config/node.h"

namespace fx::knowledge {

struct Context {
  std::optional<long long> gpus;  // per node
  std::optional<long long> nodes;
  std::optional<double> gpu_memory_gib;
  std::string gpu;                              // "A100-80GB"; may be empty
  Node model;                                   // fields of the HF config.json; empty when not given
  std::map<std::string, std::string> versions;  // "torch" -> "2.8.0"; "main 2026-05-01" is a checkout of that day

  std::optional<long long> world_size() const;  // gpus x nodes; a missing nodes counts 1, missing gpus: unknown
  // Is the package's version at least this one? nullopt when the context is silent. A "main" checkout is newer than any
  // release.
  std::optional<bool> at_least(std::string_view package, std::string_view version) const;
  // The same against a day "2026-02-23"; a release number answers with release_answer.
  std::optional<bool> from_day(std::string_view package, std::string_view day,
                               std::optional<bool> release_answer) const;
  bool below_sm90() const;  // the GPU is known and older than Hopper
  bool known_at_least(std::string_view package, std::string_view version) const;  // known and true
  bool known_below(std::string_view package, std::string_view version) const;     // known and false
};

// Weights of a decoder-only model from its config fields; nullopt when they do not suffice.
std::optional<double> parameter_count(const Node& model);

}  // namespace fx::knowledge
