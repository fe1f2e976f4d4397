#include <cstring>

#include "engine/comm/shm/stream_copy.h"

namespace fx::engine::shm {

void stream_copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void finish_streams() {}

}  // namespace fx::engine::shm
