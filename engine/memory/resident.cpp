#include "engine/memory/resident.h"

#include <sys/resource.h>

namespace fx::engine {

std::int64_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace fx::engine
