// The collectives that sharded training needs, whoever carries them. Every rank must issue the same calls in the same
// order. Each call has a sequence number in its group (from 1) and a label, so that a failure names rank, operation and
// place; the recorder keeps the last ones.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/flight_recorder.h"

namespace fx::engine {

// What went wrong in a collective, seen from one rank. Thrown by wait() and by the blocking calls.
class CollectiveError : public std::runtime_error {
 public:
  CollectiveError(int rank, std::string collective, std::string label, std::int64_t sequence, const std::string& what);
  int rank;
  std::string collective;  // all_gather, reduce_scatter, all_reduce, barrier
  std::string label;       // what it was for: "layer 3", "grad norm"
  std::int64_t sequence;
};

// A collective under way. wait() may be called once; the tensors must live until then.
class Pending {
 public:
  explicit Pending(std::function<void()> wait = {}) : wait_(std::move(wait)) {}
  void wait() {
    if (wait_) std::exchange(wait_, {})();
  }
  bool active() const { return static_cast<bool>(wait_); }

 private:
  std::function<void()> wait_;
};

std::vector<int> all_ranks(int size);  // 0, 1, ..., size - 1

struct CommStats {
  std::int64_t calls = 0;
  std::int64_t bytes_sent = 0;  // by this rank
  double wait_seconds = 0;      // time that the training thread stood still
};

// Tensors are contiguous, 1-D, on device(). Not safe to call from several threads.
class Collectives {
 public:
  // A process group of the given global ranks; its calls go into the recorder (none: one of its own).
  Collectives(std::string group, std::string backend, int global_rank, std::vector<int> ranks,
              std::shared_ptr<FlightRecorder> recorder = nullptr);
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Where the tensors of its calls lie.
  virtual at::Device device() const { return at::kCPU; }
  // A smaller group of these ranks: indices in this group, ascending, this rank among them. Called by all of them, with
  // a name that no other group has. Its calls have numbers of their own, in the same recorder.
  virtual std::unique_ptr<Collectives> split(const std::string& name, const std::vector<int>& ranks) = 0;
  const std::string& backend() const { return backend_name_; }
  int global_rank() const { return global_rank_; }

  // out[r * n, (r + 1) * n) = rank r's in, n = in.numel(); any dtype.
  Pending all_gather(const std::string& label, at::Tensor out, at::Tensor in);
  // out = sum over ranks s of s's in[rank * n, (rank + 1) * n), n = out.numel(); both bf16 or both fp32, summed in rank
  // order in fp32.
  Pending reduce_scatter(const std::string& label, at::Tensor out, at::Tensor in);
  void all_reduce_sum(const std::string& label, at::Tensor inout);
  void all_reduce_max(const std::string& label, at::Tensor inout);
  void barrier(const std::string& label);

  const CommStats& stats() const { return stats_; }
  void reset_stats() { stats_ = {}; }
  FlightRecorder& recorder() { return *recorder_; }
  const std::shared_ptr<FlightRecorder>& shared_recorder() const { return recorder_; }

 protected:
  using Wait = std::function<void()>;
  virtual Wait start_all_gather(at::Tensor out, at::Tensor in) = 0;
  virtual Wait start_reduce_scatter(at::Tensor out, at::Tensor in) = 0;
  virtual void run_all_reduce(at::Tensor inout, bool max) = 0;

 private:
  Pending track(WorkCall call, std::int64_t bytes, const std::function<Wait()>& start);
  std::string backend_name_;
  int global_rank_;
  std::shared_ptr<FlightRecorder> recorder_;
  int group_;  // in the recorder
  CommStats stats_;
};

}  // namespace fx::engine
