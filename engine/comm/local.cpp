#include "engine/comm/local.h"

#include <ATen/ops/maximum.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fx::engine {
namespace {

// Where the ranks of one group meet: each shows a tensor, waits until all have, reads, waits again.
class Meeting {
 public:
  explicit Meeting(int size) : shown_(static_cast<std::size_t>(size)) {}

  std::vector<at::Tensor> show(int rank, at::Tensor tensor) {
    std::unique_lock lock(mutex_);
    shown_[static_cast<std::size_t>(rank)] = std::move(tensor);
    arrive(lock);
    return shown_;
  }
  void done() {
    std::unique_lock lock(mutex_);
    arrive(lock);
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  void arrive(std::unique_lock<std::mutex>& lock) {
    const auto round = round_;
    if (++arrived_ == shown_.size()) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || failed_; });
    if (round_ == round) throw std::runtime_error("another rank has failed");
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> shown_;
  std::size_t arrived_ = 0;
  std::int64_t round_ = 0;
  bool failed_ = false;
};

class Local : public Collectives {
 public:
  Local(int rank, int size, Meeting& meeting) : rank_(rank), size_(size), meeting_(meeting) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string backend() const override { return "local"; }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    const auto all = meeting_.show(rank_, in);
    for (int r = 0; r < size_; ++r) out.narrow(0, r * in.numel(), in.numel()).copy_(all[static_cast<std::size_t>(r)]);
    meeting_.done();
    return [] {};
  }
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    const auto all = meeting_.show(rank_, in);
    const std::int64_t n = out.numel();
    at::Tensor sum = all[0].narrow(0, rank_ * n, n).to(at::kFloat, false, true);
    for (std::size_t r = 1; r < all.size(); ++r) sum.add_(all[r].narrow(0, rank_ * n, n));
    meeting_.done();
    out.copy_(sum);
    return [] {};
  }
  void run_all_reduce(at::Tensor inout, bool max) override {
    const auto all = meeting_.show(rank_, inout);
    at::Tensor result = all[0].clone();
    for (std::size_t r = 1; r < all.size(); ++r) result = max ? at::maximum(result, all[r]) : result.add(all[r]);
    meeting_.done();
    inout.copy_(result);
  }

 private:
  int rank_;
  int size_;
  Meeting& meeting_;
};

}  // namespace

void run_local_ranks(int size, const std::function<void(Collectives&)>& body) {
  Meeting meeting(size);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Local collectives(rank, size, meeting);
      try {
        body(collectives);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        meeting.fail();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace fx::engine
