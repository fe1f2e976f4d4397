// NCCL process groups, in builds for CUDA (nccl.cpp); others refuse (no_nccl.cpp).
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace fx::engine {

// Two communicators of the same ranks: each runs on a stream of its own, so that a gather and a reduction can be under
// way together, and both beside the computation. Waiting for a call makes the caller's current stream wait, not the
// thread.
struct NcclBackends {
  c10::intrusive_ptr<c10d::Backend> gather, reduce;
};

// Called by all ranks of a group together, each on its own device; the store's prefix must be the group's own. Throws
// when they do not meet.
NcclBackends connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                          std::chrono::milliseconds timeout, at::Device device);

}  // namespace fx::engine
