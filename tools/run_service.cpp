#include "tools/run_service.h"

namespace fx::tools {

std::string_view to_string(RunState state) {
  switch (state) {
    case RunState::kQueued:
      return "queued";
    case RunState::kRunning:
      return "running";
    case RunState::kSucceeded:
      return "succeeded";
    case RunState::kFailed:
      return "failed";
    case RunState::kStopped:
      return "stopped";
  }
  return "failed";
}

bool has_ended(RunState state) {
  return state != RunState::kQueued && state != RunState::kRunning;
}

}  // namespace fx::tools
