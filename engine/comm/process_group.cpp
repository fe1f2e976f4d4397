#include "engine/comm/process_group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/comm/nccl.h"
#include "engine/comm/shared_memory.h"

namespace fx::engine {
namespace {

using Store = c10::intrusive_ptr<c10d::Store>;
using Backend = c10::intrusive_ptr<c10d::Backend>;

// What a rank must know to join a group.
struct Member {
  std::string name;
  Store store;  // its prefix is the group's own
  int rank = 0;
  std::vector<int> global_ranks;
  std::chrono::seconds timeout{600};
  bool loopback = false;
  Transport transport = Transport::kAutomatic;
  at::Device device = at::kCPU;
  std::shared_ptr<FlightRecorder> recorder;  // none: a new one
  int size() const { return static_cast<int>(global_ranks.size()); }
};

class ProcessGroup : public Collectives {
 public:
  ProcessGroup(const Member& member, Backend backend)
      : Collectives(member.name, backend->getBackendName(), member.global_ranks[static_cast<std::size_t>(member.rank)],
                    member.global_ranks, member.recorder),
        member_(member),
        backend_(std::move(backend)) {}
  int rank() const override { return backend_->getRank(); }
  int size() const override { return backend_->getSize(); }
  std::unique_ptr<Collectives> split(const std::string& name, const std::vector<int>& ranks) override;

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    return waiter(backend_->_allgather_base(out, in, c10d::AllgatherOptions{}));
  }
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    return waiter(backend_->_reduce_scatter_base(out, in, c10d::ReduceScatterOptions{}));
  }
  void run_all_reduce(at::Tensor inout, bool max) override {
    c10d::AllreduceOptions options;
    options.reduceOp = max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    std::vector<at::Tensor> tensors = {inout};
    backend_->allreduce(tensors, options)->wait();
  }

  static Wait waiter(c10::intrusive_ptr<c10d::Work> work) {
    return [work] { work->wait(); };
  }
  Member member_;
  Backend backend_;
};

// Gloo builds its reduce-scatter on an all-reduce: exchanging the parts and summing them here moves half the bytes.
class GlooGroup : public ProcessGroup {
 public:
  using ProcessGroup::ProcessGroup;

 protected:
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    at::Tensor parts = at::empty({size(), out.numel()}, in.options());
    at::Tensor flat = parts.view({-1});
    std::vector<std::int64_t> even;
    Wait received = waiter(backend_->alltoall_base(flat, in, even, even, c10d::AllToAllOptions{}));
    return [received = std::move(received), parts, out, in]() mutable {
      received();
      if (out.scalar_type() == at::kFloat) {
        at::sum_out(out, parts, {0}, false, at::kFloat);
      } else {
        out.copy_(at::sum(parts, {0}, false, at::kFloat));
      }
    };
  }
};

// Calls return when they are enqueued, and waiting makes the current stream wait. Small results of the CPU (norms,
// peaks) go by way of the device, and are there when the call returns.
class NcclGroup : public ProcessGroup {
 public:
  NcclGroup(const Member& member, NcclBackends backends)
      : ProcessGroup(member, std::move(backends.gather)), reduce_(std::move(backends.reduce)) {}
  at::Device device() const override { return member_.device; }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    if (!in.is_cpu()) return ProcessGroup::start_all_gather(out, in);
    at::Tensor there = at::empty_like(out, out.options().device(member_.device)), mine = in.to(member_.device);
    backend_->_allgather_base(there, mine, c10d::AllgatherOptions{})->wait();
    out.copy_(there);
    return [] {};
  }
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    return waiter(reduce_->_reduce_scatter_base(out, in, c10d::ReduceScatterOptions{}));
  }
  void run_all_reduce(at::Tensor inout, bool max) override {
    c10d::AllreduceOptions options;
    options.reduceOp = max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    std::vector<at::Tensor> there = {inout.to(member_.device)};
    reduce_->allreduce(there, options)->wait();
    if (inout.is_cpu()) inout.copy_(there[0]);
  }

 private:
  Backend reduce_;
};

Store make_store(const Rendezvous& meeting) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(meeting.master_port);
  options.isServer = meeting.rank == 0 && !meeting.store_is_hosted;
  options.numWorkers = static_cast<std::size_t>(meeting.world_size);
  options.timeout = std::chrono::seconds(meeting.timeout_s);
  Store store = c10::make_intrusive<c10d::TCPStore>(meeting.master_addr, options);
  // The launcher's store outlives a restart of the workers: each attempt has keys of its own.
  const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return c10::make_intrusive<c10d::PrefixStore>(std::string("fsdp-engine/") + (attempt != nullptr ? attempt : "0"),
                                                store);
}

Backend make_gloo(const Member& member) {
  auto options = c10d::ProcessGroupGloo::Options::create(member.timeout);
  options->devices.push_back(member.loopback ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                             : c10d::ProcessGroupGloo::createDefaultDevice());
  options->threads = 2;
  return c10::make_intrusive<c10d::ProcessGroupGloo>(member.store, member.rank, member.size(), options);
}

// Through shared memory when all ranks of the group share a host, unless told otherwise.
Result<Backend> join_backend(const Member& member) {
  if (member.transport != Transport::kGloo) {
    auto shared = connect_shared_memory(member.store, member.rank, member.size(), member.timeout);
    if (shared || member.transport == Transport::kSharedMemory) return shared;
  }
  return make_gloo(member);
}

// One rank's part of a group.
Result<std::unique_ptr<Collectives>> join_group(const Member& member) {
  if (member.device.is_cuda()) {
    return std::unique_ptr<Collectives>(
        new NcclGroup(member, connect_nccl(member.store, member.rank, member.size(), member.timeout, member.device)));
  }
  auto backend = join_backend(member);
  if (!backend) return backend.error();
  if ((*backend)->getBackendName() != "gloo")
    return std::unique_ptr<Collectives>(new ProcessGroup(member, std::move(*backend)));
  return std::unique_ptr<Collectives>(new GlooGroup(member, std::move(*backend)));
}

Member member_of(const Rendezvous& meeting, Transport transport, const std::string& name, Store store) {
  Member member;
  member.name = name;
  member.store = std::move(store);
  member.rank = meeting.rank;
  member.global_ranks = all_ranks(meeting.world_size);
  member.timeout = std::chrono::seconds(meeting.timeout_s);
  // Ranks on one host talk over the loopback device; elsewhere Gloo picks the device of the host's own name.
  member.loopback = meeting.master_addr == "127.0.0.1" || meeting.master_addr == "localhost";
  member.transport = transport;
  return member;
}

Error not_met(const Rendezvous& meeting, const std::exception& error) {
  const auto lines = split_lines(error.what());
  return unavailable(
      "rank " + std::to_string(meeting.rank) + " could not meet the others at " + meeting.master_addr + ":" +
          std::to_string(meeting.master_port) + ": " + std::string(lines.empty() ? "" : lines.front()),
      "check that the port is free and that all " + std::to_string(meeting.world_size) + " ranks were started");
}

std::unique_ptr<Collectives> ProcessGroup::split(const std::string& name, const std::vector<int>& ranks) {
  Member part = member_;
  part.name = name;
  part.recorder = shared_recorder();
  part.store = c10::make_intrusive<c10d::PrefixStore>(name, member_.store);
  part.global_ranks.clear();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == rank()) part.rank = static_cast<int>(i);
    part.global_ranks.push_back(member_.global_ranks[static_cast<std::size_t>(ranks[i])]);
  }
  auto joined = join_group(part);
  if (!joined) throw std::runtime_error("group " + name + ": " + joined.error().message);
  return std::move(*joined);
}

}  // namespace

Result<Transport> transport_from_environment() {
  const char* text = std::getenv("FX_TRANSPORT");
  const std::string_view name = text != nullptr ? text : "auto";
  if (name == "auto" || name.empty()) return Transport::kAutomatic;
  if (name == "shm") return Transport::kSharedMemory;
  if (name == "gloo") return Transport::kGloo;
  return invalid_argument("FX_TRANSPORT", "\"" + quote_input(name, 40) + "\" is not a transport",
                          "use auto, shm or gloo");
}

Result<std::unique_ptr<Collectives>> connect(const Rendezvous& meeting, Transport transport, at::Device device) {
  try {
    Member member = member_of(meeting, transport, "world", make_store(meeting));
    member.device = device;
    return join_group(member);
  } catch (const std::exception& error) {
    return not_met(meeting, error);
  }
}

Result<std::vector<Backend>> connect_backends(const Rendezvous& meeting,
                                              const std::vector<std::pair<std::string, Transport>>& groups) {
  try {
    const Store store = make_store(meeting);
    std::vector<Backend> backends;
    for (const auto& [name, transport] : groups) {
      auto backend =
          join_backend(member_of(meeting, transport, name, c10::make_intrusive<c10d::PrefixStore>(name, store)));
      if (!backend) return backend.error();
      backends.push_back(std::move(*backend));
    }
    return backends;
  } catch (const std::exception& error) {
    return not_met(meeting, error);
  }
}

}  // namespace fx::engine
