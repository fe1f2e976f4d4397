// Memory that the ranks of one host share: an anonymous file of rank 0 that the others open through /proc, so nothing
// is left behind however a rank ends. Words in it are futexes: a rank that waits sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fx::engine::shm {

// How the ranks find each other: set makes a value visible to all, get waits for one. Both may throw.
struct KeyValue {
  std::function<void(const std::string& key, const std::string& value)> set;
  std::function<std::string(const std::string& key)> get;
};

// A mapping of the shared file and the processes of its ranks. Move only.
class Segment {
 public:
  // Called by all ranks together. kUnavailable on every rank when one of them cannot open the file (other host, other
  // PID namespace, no rights): the caller takes another transport.
  static Result<Segment> meet(int rank, int size, std::size_t bytes, const KeyValue& store);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&&) = delete;
  ~Segment();

  std::byte* data() const { return data_; }
  // Whether the rank's process has ended. A rank of this very process never has.
  bool has_ended(int rank) const;
  long long process_of(int rank) const { return processes_[static_cast<std::size_t>(rank)]; }

 private:
  Segment() = default;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<long long> processes_;
  std::vector<int> watches_;  // pidfd of each rank; kNoWatch, kEnded
};

// Sleeps until word differs from seen, someone wakes it, or the time is over.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::milliseconds time);
void wake_all(std::atomic<std::uint32_t>& word);

}  // namespace fx::engine::shm
