// An axolotl yaml: where its FSDP settings stand.
#pragma once

#include "knowledge/formats/input.h"

namespace fx::knowledge {

struct AxolotlView {
  const Node& root;
  const Node* block;  // fsdp_config; nullptr when absent or empty

  explicit AxolotlView(const Input& input);
  const Node* top(std::string_view name) const { return root.find(name); }
  const Node* setting(const std::string& name) const;  // inside the block, with or without fsdp_
  const Node* version_node() const;                    // top level first, then inside the block
  int version() const;                                 // 2, else 1
  bool fsdp_on() const;
  bool v2() const { return fsdp_on() && version() == 2; }
  bool v1() const { return fsdp_on() && version() != 2; }
  bool bnb_8bit_optimizer() const;  // adamw_8bit, adamw_bnb_8bit, paged_adamw_8bit
};

}  // namespace fx::knowledge
