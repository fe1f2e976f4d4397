// What this process has used.
#pragma once

#include <cstdint>

namespace fx::engine {

// Largest resident memory since the start, in bytes (VmHWM; code of shared libraries included). 0: unknown.
std::int64_t peak_resident_bytes();

}  // namespace fx::engine
