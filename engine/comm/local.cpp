#include "engine/comm/local.h"

#include <ATen/ops/maximum.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
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
  void done(int rank) {
    std::unique_lock lock(mutex_);
    arrive(lock);
    shown_[static_cast<std::size_t>(rank)] = at::Tensor();
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

// All groups of the ranks of one run: the world, and the smaller ones that ranks made by split().
class World {
 public:
  Meeting& meeting(const std::string& group, std::size_t size) {
    const std::lock_guard lock(mutex_);
    auto& place = meetings_[group];
    if (!place) place = std::make_unique<Meeting>(static_cast<int>(size));
    return *place;
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    for (auto& [name, meeting] : meetings_) meeting->fail();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Meeting>> meetings_;
};

class Local : public Collectives {
 public:
  Local(const std::string& group, int rank, std::vector<int> global_ranks, World& world,
        std::shared_ptr<FlightRecorder> recorder)
      : Collectives(group, "local", global_ranks[static_cast<std::size_t>(rank)], global_ranks, std::move(recorder)),
        rank_(rank),
        size_(static_cast<int>(global_ranks.size())),
        global_ranks_(std::move(global_ranks)),
        world_(world),
        meeting_(world.meeting(group, global_ranks_.size())) {}
  std::unique_ptr<Collectives> split(const std::string& name, const std::vector<int>& ranks) override {
    std::vector<int> part;
    for (const int rank : ranks) part.push_back(global_ranks_[static_cast<std::size_t>(rank)]);
    const auto mine = std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin();
    return std::make_unique<Local>(name, static_cast<int>(mine), std::move(part), world_, shared_recorder());
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    auto all = meeting_.show(rank_, in);
    for (int r = 0; r < size_; ++r) out.narrow(0, r * in.numel(), in.numel()).copy_(all[static_cast<std::size_t>(r)]);
    all.clear();  // nobody holds another rank's tensor any longer than a real transport would
    meeting_.done(rank_);
    return [] {};
  }
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    auto all = meeting_.show(rank_, in);
    const std::int64_t n = out.numel();
    at::Tensor sum = all[0].narrow(0, rank_ * n, n).to(at::kFloat, false, true);
    for (std::size_t r = 1; r < all.size(); ++r) sum.add_(all[r].narrow(0, rank_ * n, n));
    all.clear();
    meeting_.done(rank_);
    out.copy_(sum);
    return [] {};
  }
  void run_all_reduce(at::Tensor inout, bool max) override {
    const auto all = meeting_.show(rank_, inout);
    at::Tensor result = all[0].clone();
    for (std::size_t r = 1; r < all.size(); ++r) result = max ? at::maximum(result, all[r]) : result.add(all[r]);
    meeting_.done(rank_);
    inout.copy_(result);
  }

 private:
  int rank_;
  int size_;
  std::vector<int> global_ranks_;
  World& world_;
  Meeting& meeting_;
};

}  // namespace

void run_local_ranks(int size, const std::function<void(Collectives&)>& body) {
  World world;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Local collectives("world", rank, all_ranks(size), world, nullptr);
      try {
        body(collectives);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        world.fail();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace fx::engine
