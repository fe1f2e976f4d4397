// A few threads and a bounded queue.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fx::server {

// Threads start with the first job. The destructor runs what is queued, then joins.
class WorkerPool {
 public:
  WorkerPool(std::size_t threads, std::size_t max_queued) : threads_(threads), max_queued_(max_queued) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void add(std::function<void()> job);  // waits while the queue is full; jobs must not throw

 private:
  void work();

  std::size_t threads_, max_queued_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace fx::server
