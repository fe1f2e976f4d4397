// The head of a log line: who wrote it and when. Knows torchrun, torch, accelerate, Lightning, Slurm, Ray, Docker and
// Kubernetes prefixes, NCCL's own head, and plain lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "knowledge/log/timestamp.h"

namespace fx::knowledge {

struct LineHead {
  int rank = -1;        // global rank, -1: not said
  int local_rank = -1;  // torchrun's tee prefix ([default3]:) and NCCL's device
  long long pid = -1;
  std::string actor;  // Ray actor, container, pod or server name
  std::string host;   // host or node name
  std::optional<Timestamp> time;
  std::size_t body = 0;  // where the text itself begins
};

// True when the prefix says its number is a global rank; the text behind it is not looked at.
LineHead read_head(std::string_view line);

}  // namespace fx::knowledge
