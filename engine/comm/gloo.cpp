#include "engine/comm/gloo.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace fx::engine {
namespace {

class Gloo : public Collectives {
 public:
  Gloo(const Rendezvous& meeting, c10::intrusive_ptr<c10d::Store> store)
      : rank_(meeting.rank), size_(meeting.world_size), store_(std::move(store)) {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(meeting.timeout_s));
    // Ranks on one host talk over the loopback device; elsewhere Gloo picks the device of the host's own name.
    const bool local = meeting.master_addr == "127.0.0.1" || meeting.master_addr == "localhost";
    options->devices.push_back(local ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                     : c10d::ProcessGroupGloo::createDefaultDevice());
    options->threads = 2;
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, rank_, size_, options);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string backend() const override { return "gloo"; }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    return waiter(group_->_allgather_base(out, in, c10d::AllgatherOptions{}));
  }
  Wait start_exchange(at::Tensor slices, at::Tensor in) override {
    std::vector<std::int64_t> even;
    return waiter(group_->alltoall_base(slices, in, even, even, c10d::AllToAllOptions{}));
  }
  void run_all_reduce(at::Tensor inout, bool max) override {
    c10d::AllreduceOptions options;
    options.reduceOp = max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    std::vector<at::Tensor> tensors = {inout};
    group_->allreduce(tensors, options)->wait();
  }

 private:
  static Wait waiter(c10::intrusive_ptr<c10d::Work> work) {
    return [work] { work->wait(); };
  }
  int rank_;
  int size_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

class Single : public Collectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string backend() const override { return "none"; }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    out.copy_(in);
    return [] {};
  }
  Wait start_exchange(at::Tensor slices, at::Tensor in) override {
    slices.copy_(in);
    return [] {};
  }
  void run_all_reduce(at::Tensor, bool) override {}
};

Result<int> environment_integer(const char* name, int fallback, int low, int high) {
  const char* text = std::getenv(name);
  if (text == nullptr) return fallback;
  const auto value = to_integer(text);
  if (!value || *value < low || *value > high) {
    return invalid_argument(
        name,
        "\"" + quote_input(text, 40) + "\" is not a number from " + std::to_string(low) + " to " + std::to_string(high),
        "start the ranks with fsdp-expert, torchrun --no-python or srun");
  }
  return static_cast<int>(*value);
}

}  // namespace

Result<Rendezvous> rendezvous_from_environment() {
  Rendezvous meeting;
  std::vector<Error> errors;
  const auto read = [&](const char* name, int& out, int low, int high) {
    auto value = environment_integer(name, out, low, high);
    if (value) {
      out = *value;
    } else {
      errors.push_back(value.error());
    }
  };
  read("WORLD_SIZE", meeting.world_size, 1, 1 << 20);
  read("RANK", meeting.rank, 0, (1 << 20) - 1);
  read("MASTER_PORT", meeting.master_port, 1, 65535);
  read("FX_TIMEOUT_S", meeting.timeout_s, 1, 86400);
  if (const char* address = std::getenv("MASTER_ADDR"); address != nullptr && *address != '\0')
    meeting.master_addr = address;
  const char* hosted = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  meeting.store_is_hosted = hosted != nullptr && std::string_view(hosted) == "True";
  if (meeting.rank >= meeting.world_size) {
    errors.push_back(invalid_argument("RANK", "rank " + std::to_string(meeting.rank) +
                                                  " does not exist in a world of " +
                                                  std::to_string(meeting.world_size)));
  }
  if (!errors.empty()) return combine(std::move(errors));
  return meeting;
}

Result<std::unique_ptr<Collectives>> connect_gloo(const Rendezvous& meeting) {
  try {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(meeting.master_port);
    options.isServer = meeting.rank == 0 && !meeting.store_is_hosted;
    options.numWorkers = static_cast<std::size_t>(meeting.world_size);
    options.timeout = std::chrono::seconds(meeting.timeout_s);
    c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(meeting.master_addr, options);
    // The launcher's store outlives a restart of the workers: each attempt has keys of its own.
    const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
    store = c10::make_intrusive<c10d::PrefixStore>(std::string("fsdp-engine/") + (attempt != nullptr ? attempt : "0"),
                                                   store);
    return std::unique_ptr<Collectives>(new Gloo(meeting, std::move(store)));
  } catch (const std::exception& error) {
    const std::string first_line(split_lines(error.what()).empty() ? "" : split_lines(error.what()).front());
    return unavailable(
        "rank " + std::to_string(meeting.rank) + " could not meet the others at " + meeting.master_addr + ":" +
            std::to_string(meeting.master_port) + ": " + first_line,
        "check that the port is free and that all " + std::to_string(meeting.world_size) + " ranks were started");
  }
}

std::unique_ptr<Collectives> make_single() {
  return std::make_unique<Single>();
}

}  // namespace fx::engine
