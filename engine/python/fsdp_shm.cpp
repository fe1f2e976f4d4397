// The shared-memory backend for Python: `import fsdp_shm`, then init_process_group("shm"), and everything that
// torch.distributed does on CPU tensors, FSDP2 among it, goes through it.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <stdexcept>

#include "base/error.h"
#include "engine/comm/shared_memory.h"

namespace {

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         std::chrono::milliseconds timeout) {
  auto backend = fx::engine::connect_shared_memory(store, rank, size, timeout);
  if (!backend) throw std::runtime_error(fx::to_line(backend.error()));
  return *backend;
}

}  // namespace

PYBIND11_MODULE(fsdp_shm, module) {
  module.doc() = "torch.distributed backend \"shm\": collectives of the ranks of one host through shared memory";
  module.def("create", &create, pybind11::call_guard<pybind11::gil_scoped_release>());
  const auto distributed = pybind11::module_::import("torch.distributed");
  const std::vector<std::string> devices = {"cpu"};
  distributed.attr("Backend").attr("register_backend")("shm", module.attr("create"),
                                                       pybind11::arg("devices") = devices);
}
