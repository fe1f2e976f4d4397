// Collectives over c10d: through shared memory when all ranks are on one host, through Gloo otherwise.
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/comm/collectives.h"
#include "engine/comm/rendezvous.h"

namespace fx::engine {

enum class Transport { kAutomatic, kSharedMemory, kGloo };

// FX_TRANSPORT: auto (or unset), shm, gloo.
Result<Transport> transport_from_environment();

// Meets the other ranks; rank 0 hosts the store. kAutomatic tries shared memory and takes Gloo when the ranks do not
// share a host. Errors: kUnavailable with address and port (in use, unreachable, not everyone came within the timeout).
Result<std::unique_ptr<Collectives>> connect(const Rendezvous& meeting, Transport transport);

// One rank alone: nothing is sent.
std::unique_ptr<Collectives> make_single();

}  // namespace fx::engine
