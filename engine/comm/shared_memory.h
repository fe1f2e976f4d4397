// Collectives of ranks on one host as a c10d backend, so that any LibTorch program can use them. CPU tensors,
// contiguous; all-gather, reduce-scatter, all-reduce, broadcast, even all-to-all, barrier. Calls are queued and run in
// order on a thread of the group; Work::wait() throws what went wrong. Reductions run in rank order, bf16 and fp16 in
// fp32: results do not depend on timing.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>

#include "base/result.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace fx::engine {

// Called by all ranks together; the store's prefix must be the group's own. kUnavailable on every rank when the ranks
// cannot share memory: take Gloo.
Result<c10::intrusive_ptr<c10d::Backend>> connect_shared_memory(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                                int size, std::chrono::milliseconds timeout);

}  // namespace fx::engine
