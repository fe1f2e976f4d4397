#include "server/worker_pool.h"

#include <utility>

namespace fx::server {

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void WorkerPool::add(std::function<void()> job) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.size() < max_queued_; });
  jobs_.push_back(std::move(job));
  if (workers_.size() < threads_) workers_.emplace_back([this] { work(); });
  changed_.notify_all();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    changed_.notify_all();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace fx::server
