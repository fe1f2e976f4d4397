// An accelerate configuration, from its yaml or from the flags of `accelerate launch`: the same questions for both.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

class AccelerateView {
 public:
  explicit AccelerateView(const Input& input);

  bool is_yaml() const { return root_ != nullptr; }
  const Node* top(std::string_view name) const;  // top-level key or flag
  const Node* block() const;                     // fsdp_config; nullptr on the command line
  const Node* fsdp(
      const std::string& name) const;  // "version": fsdp_version or version inside fsdp_config, or --fsdp_version
  const Node* mesh_block() const;
  const Node* mesh(const std::string& name) const;     // "tp_size"; only with its prefix, as accelerate reads it
  long long mesh_size(const std::string& name) const;  // 1 when absent

  bool fsdp_on() const;          // distributed_type FSDP, or --use_fsdp
  bool has_fsdp_keys() const;    // some fsdp_ setting is written
  int version() const;           // 1 (also when absent), 2, or 0 for anything else
  std::string strategy() const;  // upper-case name of sharding_strategy, FULL_SHARD when absent
  std::optional<long long> processes() const, machines() const;

 private:
  const Node* root_ = nullptr;
  const Launch* launch_ = nullptr;
};

const std::vector<std::string>& accelerate_top_keys();
const std::vector<std::string>& accelerate_fsdp_keys();  // without prefix
const std::vector<std::string>& accelerate_mesh_keys();  // without prefix
const std::vector<std::string>& sharding_strategies();

}  // namespace fx::knowledge
