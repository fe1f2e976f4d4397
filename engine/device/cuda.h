// What only a build for CUDA can do: cuda.cpp there, no_cuda.cpp elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace fx::engine::cuda {

int device_count();
std::string why_none();
// The ones below: only where device_count() > 0.
void use_device(int index);
std::int64_t peak_bytes(int index);

}  // namespace fx::engine::cuda
