// Claims of several causes weighed against each other and against how the run went on.
#pragma once

#include <vector>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {

struct Weighed {
  const CauseRule* rule = nullptr;
  Claim claim;
};

const std::vector<Mark>& reconcile_marks();
// Lowers the scores of claims that the rest of the log explains or refutes. waits_count: false when our engine's own
// records say who waited for whom.
void reconcile(const Scene& scene, bool waits_count, std::vector<Weighed>& claims);

}  // namespace fx::knowledge
