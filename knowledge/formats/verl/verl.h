// verl's Hydra overrides of one launch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

struct VerlOverride {
  Node node;         // name and shown: the key without signs; text: the value
  std::string sign;  // "", "+", "++", "~"
};

struct VerlView {
  std::vector<VerlOverride> overrides;
  std::vector<Node> spaced;  // keys with a blank before or after their "="
  bool found = false, sft = false, megatron = false;
  bool complete = false;      // no unknown array that may hold more, no configuration of the user's own
  bool stock_config = false;  // main_ppo with the configuration that verl ships for FSDP

  const Node* get(std::string_view key) const;  // the last one given
  std::string text(std::string_view key, std::string_view fallback = {}) const;
  bool is_true_value(std::string_view key) const { return is_true(get(key)); }
  // "actor_rollout_ref.actor" -> its strategy, following ref -> actor and the default fsdp.
  std::string strategy(std::string_view role) const;
};
VerlView verl_view(const Input& input);
// The fsdp_config path of a role.
std::string verl_fsdp_path(std::string_view role);
const std::vector<std::string>& verl_roles();  // actor, ref, critic

enum class VerlKeyAge { kAlways, kRecent, kSometimes };  // in every release; from 0.6 on; in some
struct VerlKeys {
  std::vector<std::string> names;
  std::vector<VerlKeyAge> ages;  // one a name

  std::optional<VerlKeyAge> age(std::string_view name) const;  // nullopt: no release has the key
};
// Every key below a parent of main_ppo's configuration; nullptr when we do not list that parent.
const VerlKeys* verl_keys(std::string_view parent);

}  // namespace fx::knowledge
