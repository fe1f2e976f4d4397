// Applies every mechanical fix that can be trusted: the text reads in the same format afterwards, the finding is gone,
// nothing but what the fix speaks about has changed, and there is no new error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "knowledge/formats/input.h"
#include "spec/finding.h"

namespace fx::knowledge {

struct Repair {
  std::vector<Finding> findings;    // of the input, as validate() gives them; with their patch where it was applied
  std::optional<std::string> text;  // with all fixes, also those that only the fixed text allows; nullopt: none
  std::string withheld;             // why the text is not given although there are patches
};

struct RepairOptions {
  bool replace_secrets = true;  // by a reference to an environment variable; the text is for someone else's eyes
};

// Never gives a text that holds a credential, unless replace_secrets is off.
Repair repair(const Input& input, RepairOptions options = {});

}  // namespace fx::knowledge
