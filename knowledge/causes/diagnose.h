// From logs to the root cause, with proof.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "knowledge/log/scene.h"
#include "spec/diagnosis.h"

namespace fx::knowledge {

struct NamedLog {
  std::string name;  // empty for a single log
  std::string_view text;
};

// config: key -> value, see JobConfig. Log text is data: quoted, masked, never obeyed. Linear in the logs' size.
Diagnosis diagnose(std::span<const NamedLog> logs, const JobConfig& config = {});

// The scene behind a diagnosis, for a timeline.
Scene read_scene(std::span<const NamedLog> logs, const JobConfig& config = {});
Diagnosis diagnose(const Scene& scene);

}  // namespace fx::knowledge
