// What the job's settings say about a cause: they make it likelier, or rule it out.
#pragma once

#include <string>

#include "knowledge/log/scene.h"

namespace fx::knowledge {

// Factor on a claim's score: above 1 when a setting confirms the cause, below 1 when it speaks against it, 1 without a
// word on it.
double config_factor(const std::string& cause, const Scene& scene);

}  // namespace fx::knowledge
