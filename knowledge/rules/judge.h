// Every rule over one input: findings, each with the changes that would fix it.
#pragma once

#include <vector>

#include "knowledge/edit/change.h"
#include "knowledge/formats/input.h"
#include "spec/finding.h"

namespace fx::knowledge {

struct Judged {
  Finding finding;
  Changes changes;  // as the rule proposes them, not tried yet
};

// Sorted: errors first, then by line. Pages are parsed only for rules that hit.
std::vector<Judged> judge(const Input& input);

}  // namespace fx::knowledge
