#include "knowledge/code_rules/checks.h"

namespace fx::knowledge {

const std::vector<CodeRule>& code_rules() {
  static const std::vector<CodeRule> rules = {};
  return rules;
}

}  // namespace fx::knowledge
