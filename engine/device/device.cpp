#include "engine/device/device.h"

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "engine/device/cuda.h"
#include "engine/memory/resident.h"

namespace fx::engine {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<at::Device> cuda_device_of_rank() {
  const std::string local = variable("LOCAL_RANK");
  const auto index = local.empty() ? 0 : to_integer(local).value_or(-1);
  if (index < 0 || index >= cuda_devices()) {
    return invalid_argument("LOCAL_RANK",
                            "\"" + quote_input(local, 40) + "\" is no device: there are " +
                                std::to_string(cuda_devices()) + " CUDA devices on this host",
                            "start at most one rank a device here, or set FX_DEVICE=cpu");
  }
  cuda::use_device(static_cast<int>(index));
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
}

}  // namespace

Result<at::Device> choose_device() {
  const std::string wish = variable("FX_DEVICE");
  if (wish == "cpu") return at::Device(at::kCPU);
  if (wish == "cuda" && cuda_devices() == 0) {
    return unavailable("FX_DEVICE asks for cuda, but " + why_no_cuda(),
                       "use FX_DEVICE=cpu, or a CUDA build (make cuda-build) on a host with a GPU");
  }
  if (wish != "cuda" && wish != "auto" && !wish.empty())
    return invalid_argument("FX_DEVICE", "\"" + quote_input(wish, 40) + "\" is no device", "use auto, cpu or cuda");
  if (cuda_devices() == 0) return at::Device(at::kCPU);
  return cuda_device_of_rank();
}

int cuda_devices() {
  return cuda::device_count();
}

std::string why_no_cuda() {
  return cuda::why_none();
}

std::int64_t peak_bytes_on(at::Device device) {
  return device.is_cuda() ? cuda::peak_bytes(device.index()) : peak_resident_bytes();
}

}  // namespace fx::engine
