// What became of a run, judged by how its ranks ended and what they reported.
#pragma once

#include <string>
#include <vector>

#include "server/runs/rank_group.h"
#include "tools/run_service.h"

namespace fx::server {

struct Outcome {
  tools::RunState state = tools::RunState::kFailed;
  std::string reason;  // one sentence for people; empty for a success
};

// ends: all ranks. errors: what ranks reported, from any file.
Outcome judge(const std::vector<RankEnd>& ends, bool stop_asked, const tools::RunEvents& events,
              const std::vector<ErrorEvent>& errors);

// Error events of the event file and of the ranks' own logs (ranks other than 0 report there only).
std::vector<ErrorEvent> reported_errors(const std::filesystem::path& folder, const tools::RunEvents& events, int ranks);

}  // namespace fx::server
