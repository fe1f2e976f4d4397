// The allocator behind CPU tensors: large blocks come straight from the system, and freed ones are kept for the next
// request of about the same size. Sharded training frees and asks for the same few sizes all the time: a general heap
// either keeps holes between what lives longer, or gives pages back and takes them again zeroed. What is kept and what
// is in use together never exceed the most that was ever in use: keeping blocks costs no peak memory.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>

namespace fx::engine {

// 64-byte aligned; below 256 KiB from the heap, nothing kept. Safe for use from several threads. Throws std::bad_alloc.
class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  void* take(std::size_t bytes);
  void give_back(void* block);
  std::size_t kept_bytes() const;

 private:
  struct Kept {
    void* start;
    std::list<std::multimap<std::size_t, Kept>::iterator>::iterator age;
  };
  // Both under the lock.
  void* take_kept(std::size_t wanted, std::size_t* bytes);
  void make_room(std::size_t wanted);

  mutable std::mutex mutex_;
  std::multimap<std::size_t, Kept> by_size_;
  std::list<std::multimap<std::size_t, Kept>::iterator> by_age_;  // oldest first
  std::size_t kept_ = 0, used_ = 0, most_used_ = 0;
};

// From now on all CPU tensors use one cache. Call once, at the start.
void use_block_cache_for_tensors();

}  // namespace fx::engine
