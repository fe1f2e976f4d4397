// The device that a rank computes on: the CPU, or one CUDA device a rank in builds for it.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fx::engine {

// FX_DEVICE: auto (or unset; CUDA where there is a device), cpu, cuda. On CUDA it is device number LOCAL_RANK, and all
// that this thread makes there from now on goes to it. Errors name the variable and say what is missing.
Result<at::Device> choose_device();

// Devices that this build can use here; 0 in builds without CUDA.
int cuda_devices();
// Why cuda_devices() is 0.
std::string why_no_cuda();

// The most bytes this process has had: of the CUDA device's memory, or resident.
std::int64_t peak_bytes_on(at::Device device);

}  // namespace fx::engine
