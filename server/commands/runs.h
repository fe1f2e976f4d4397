// `runs`, `launch SPEC`, `review RUN`, `stop RUN`: training runs.
#pragma once

#include <string>

#include "server/commands/ask.h"

namespace fx::server {

int runs_command(Session& session, int limit, bool json);
int launch_command(Session& session, const std::string& spec_file, const std::string& idempotency_key);
// run: an id or the path of a run folder.
int review_command(Session& session, const std::string& run, bool json);
int stop_command(Session& session, const std::string& run);

}  // namespace fx::server
