// Copies past the caches, for results too large to be found there again: an ordinary store reads its line first, and on
// a busy memory bus that is a third of the traffic.
#pragma once

#include <cstddef>

namespace fx::engine::shm {

// Results from here on are better written past the caches.
inline constexpr std::size_t kStreamFrom = std::size_t{16} << 20;

// memcpy whose stores go straight to memory. Others see them once finish_streams() has been called.
void stream_copy(void* to, const void* from, std::size_t bytes);
void finish_streams();

}  // namespace fx::engine::shm
