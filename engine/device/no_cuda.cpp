#include <stdexcept>

#include "engine/device/cuda.h"

namespace fx::engine::cuda {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("a CUDA device is asked for in a build without CUDA");
}

}  // namespace

int device_count() {
  return 0;
}

std::string why_none() {
  return "this build computes on the CPU";
}

void use_device(int) {
  refuse();
}

std::int64_t peak_bytes(int) {
  refuse();
}

}  // namespace fx::engine::cuda
