// Runs of our own engine, whose ranks say exactly what they did: error events, status lines and flight records. Judged
// from these instead of from phrases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {

struct EngineVerdict {
  std::string cause;  // its id
  Claim claim;
  bool certain = false;  // other causes then rest on phrases only
};

const std::vector<Mark>& engine_run_marks();
// nullopt: no run of our engine, or it does not say enough.
std::optional<EngineVerdict> judge_engine_run(const Scene& scene);

}  // namespace fx::knowledge
