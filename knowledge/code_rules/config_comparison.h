// Code against the configuration it is launched with: what only both together show.
#pragma once

#include <span>

#include "knowledge/code_rules/review.h"
#include "knowledge/code_rules/rule.h"

namespace fx::knowledge {

struct ConfigHit {
  std::string_view rule;
  CodeHit at;  // file nullptr: a line of the configuration
};

// The rules that need both; their pages have no examples, since an example is code alone.
std::span<const std::string_view> config_rule_ids();

// Empty when the configuration is of no known format.
std::vector<ConfigHit> compare_with_config(const code::Program& program, const CodeConfig& config);

}  // namespace fx::knowledge
