// Collectives over c10d: NCCL among CUDA devices; on the CPU through shared memory when all ranks are on one host,
// through Gloo otherwise.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/comm/collectives.h"
#include "engine/comm/rendezvous.h"

namespace c10d {
class Backend;
}  // namespace c10d

namespace fx::engine {

enum class Transport { kAutomatic, kSharedMemory, kGloo };

// FX_TRANSPORT: auto (or unset), shm, gloo.
Result<Transport> transport_from_environment();

// Meets the other ranks; rank 0 hosts the store. kAutomatic tries shared memory and takes Gloo when the ranks do not
// share a host. Errors: kUnavailable with address and port (in use, unreachable, not everyone came within the timeout).
// On a CUDA device they talk through NCCL, whatever the transport.
Result<std::unique_ptr<Collectives>> connect(const Rendezvous& meeting, Transport transport,
                                             at::Device device = at::kCPU);

// The c10d backends alone, for programs that speak c10d: groups of all ranks, each by a name of its own. Errors as
// connect().
Result<std::vector<c10::intrusive_ptr<c10d::Backend>>> connect_backends(
    const Rendezvous& meeting, const std::vector<std::pair<std::string, Transport>>& groups);

// One rank alone: nothing is sent.
std::unique_ptr<Collectives> make_single(at::Device device = at::kCPU);

}  // namespace fx::engine
