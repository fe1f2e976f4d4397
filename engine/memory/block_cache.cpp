#include "engine/memory/block_cache.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace fx::engine {
namespace {

constexpr std::size_t kGrain = std::size_t{4} << 10;
constexpr std::size_t kLarge = std::size_t{256} << 10;

// In front of the caller's bytes.
struct alignas(64) Header {
  std::size_t bytes;  // of the whole block; 0: small, from the heap
};

std::size_t block_bytes(std::size_t bytes) {
  return (bytes + sizeof(Header) + kGrain - 1) / kGrain * kGrain;
}

void* take_small(std::size_t bytes) {
  void* start = std::aligned_alloc(sizeof(Header), (bytes + 2 * sizeof(Header) - 1) / sizeof(Header) * sizeof(Header));
  if (start == nullptr) throw std::bad_alloc();
  return new (start) Header{0} + 1;
}

void* map_block(std::size_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  return start;
}

}  // namespace

BlockCache::~BlockCache() {
  for (const auto& [bytes, kept] : by_size_) munmap(kept.start, bytes);
}

void* BlockCache::take(std::size_t bytes) {
  if (bytes < kLarge) return take_small(bytes);
  const std::size_t wanted = block_bytes(bytes);
  std::size_t size = wanted;
  void* start = nullptr;
  {
    const std::lock_guard lock(mutex_);
    start = take_kept(wanted, &size);
    if (start == nullptr) make_room(wanted);
    used_ += size;
    most_used_ = std::max(most_used_, used_);
  }
  if (start == nullptr) start = map_block(wanted);
  auto* header = new (start) Header{size};
  return header + 1;
}

// A little larger will do: what is not needed of it was touched before and stays resident.
void* BlockCache::take_kept(std::size_t wanted, std::size_t* bytes) {
  const auto found = by_size_.lower_bound(wanted);
  if (found == by_size_.end() || found->first > wanted + wanted / 32) return nullptr;
  void* start = found->second.start;
  *bytes = found->first;
  kept_ -= found->first;
  by_age_.erase(found->second.age);
  by_size_.erase(found);
  return start;
}

// For a new block: releases the oldest ones as far as it would lift the peak.
void BlockCache::make_room(std::size_t wanted) {
  while (kept_ > 0 && used_ + kept_ + wanted > most_used_) {
    const auto oldest = by_age_.front();
    by_age_.pop_front();
    kept_ -= oldest->first;
    munmap(oldest->second.start, oldest->first);
    by_size_.erase(oldest);
  }
}

void BlockCache::give_back(void* block) {
  Header* header = static_cast<Header*>(block) - 1;
  const std::size_t bytes = header->bytes;
  if (bytes == 0) return std::free(header);
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  kept_ += bytes;
  const auto kept = by_size_.emplace(bytes, Kept{header, {}});
  kept->second.age = by_age_.insert(by_age_.end(), kept);
}

std::size_t BlockCache::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

namespace {

class TensorAllocator : public c10::Allocator {
 public:
  TensorAllocator() { self = this; }
  c10::DataPtr allocate(std::size_t bytes) override {
    void* block = bytes == 0 ? nullptr : cache_.take(bytes);
    return {block, block, &give_back, at::Device(at::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  // A deleter knows nothing but its pointer: the one allocator of the process is found here.
  static void give_back(void* block) {
    if (block != nullptr) self->cache_.give_back(block);
  }
  static inline TensorAllocator* self = nullptr;
  BlockCache cache_;
};

}  // namespace

void use_block_cache_for_tensors() {
  // Tensors may outlive everything else: never freed.
  c10::SetCPUAllocator(new TensorAllocator(), 1);
}

}  // namespace fx::engine
