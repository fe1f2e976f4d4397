// Counts the bytes that tensors on the meta device would have: tensors of sizes only, without memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace fx::engine {

// While it lives, all of this process's meta tensors that are made are counted, in whatever thread. One at a time.
class SizeMeter {
 public:
  // phase: what is being done just now; asked at every allocation.
  explicit SizeMeter(std::function<std::string()> phase);
  ~SizeMeter();
  SizeMeter(const SizeMeter&) = delete;
  SizeMeter& operator=(const SizeMeter&) = delete;

  std::int64_t bytes() const { return bytes_; }
  // The most bytes there were in a phase.
  const std::map<std::string, std::int64_t>& peaks() const { return peaks_; }

  void add(std::int64_t bytes);  // negative: freed

 private:
  std::function<std::string()> phase_;
  std::int64_t bytes_ = 0;
  std::map<std::string, std::int64_t> peaks_;
};

}  // namespace fx::engine
