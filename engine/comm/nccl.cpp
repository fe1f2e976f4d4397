#include "engine/comm/nccl.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <string>

namespace fx::engine {
namespace {

c10::intrusive_ptr<c10d::Backend> join(const std::string& name, const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                       int size, std::chrono::milliseconds timeout, at::Device device) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>(name, store), rank,
                                                           size, options);
  group->setBoundDeviceId(device);
  return group;
}

}  // namespace

NcclBackends connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                          std::chrono::milliseconds timeout, at::Device device) {
  return {join("gather", store, rank, size, timeout, device), join("reduce", store, rank, size, timeout, device)};
}

}  // namespace fx::engine
