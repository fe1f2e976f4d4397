#include "engine/device/cuda.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

namespace fx::engine::cuda {

int device_count() {
  return static_cast<int>(c10::cuda::device_count());
}

std::string why_none() {
  return "no CUDA device was found here";
}

void use_device(int index) {
  const auto device = static_cast<c10::DeviceIndex>(index);
  c10::cuda::set_device(device);
  at::globalContext().lazyInitDevice(at::kCUDA);
}

std::int64_t peak_bytes(int index) {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(index));
  return stats.allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
}

}  // namespace fx::engine::cuda
