// Where the ranks of a run meet, as launchers say it in the environment.
#pragma once

#include <string>

#include "base/result.h"

namespace fx::engine {

struct Rendezvous {
  int rank = 0;
  int world_size = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 29500;
  bool store_is_hosted = false;  // by the launcher (torchrun's agent): rank 0 is a client of it too
  int timeout_s = 600;           // of every collective, and of the meeting itself
};

// Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, FX_TIMEOUT_S, and torchrun's TORCHELASTIC_USE_AGENT_STORE. Errors
// name the variable.
Result<Rendezvous> rendezvous_from_environment();

}  // namespace fx::engine
