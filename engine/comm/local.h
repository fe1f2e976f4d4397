// Ranks as threads of one process: exact, deterministic, without sockets. For tests of multi-rank logic.
#pragma once

#include <functional>

#include "engine/comm/collectives.h"

namespace fx::engine {

// Runs body(collectives) on size threads, one a rank; returns when all have ended and rethrows the first exception. A
// rank that throws makes the others' collectives fail instead of waiting for ever.
void run_local_ranks(int size, const std::function<void(Collectives&)>& body);

}  // namespace fx::engine
