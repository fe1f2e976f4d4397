#include "engine/memory/block_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace fx::engine {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(BlockCache, HandsOutTheSameBlockAgainForAboutTheSameSize) {
  BlockCache cache(8 * kMiB);
  void* first = cache.take(2 * kMiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  std::memset(first, 1, 2 * kMiB);
  cache.give_back(first);
  EXPECT_GE(cache.kept_bytes(), 2 * kMiB);
  void* again = cache.take(2 * kMiB - 1000);
  EXPECT_EQ(again, first);
  EXPECT_EQ(cache.kept_bytes(), 0u);
  cache.give_back(again);
  void* smaller = cache.take(kMiB);  // half the size: the kept block would be wasted on it
  EXPECT_NE(smaller, first);
  cache.give_back(smaller);
}

TEST(BlockCache, KeepsNoMoreThanItsLimitAndReleasesTheOldest) {
  BlockCache cache(5 * kMiB);
  void* old = cache.take(kMiB);
  void* middle = cache.take(2 * kMiB);
  void* young = cache.take(2 * kMiB);
  cache.give_back(old);
  cache.give_back(middle);
  cache.give_back(young);
  EXPECT_LE(cache.kept_bytes(), 5 * kMiB);
  EXPECT_EQ(cache.take(2 * kMiB), middle);
  void* huge = cache.take(64 * kMiB);
  const std::size_t kept = cache.kept_bytes();
  cache.give_back(huge);
  EXPECT_EQ(cache.kept_bytes(), kept);
  cache.give_back(middle);
}

TEST(BlockCache, ThreadsNeverShareABlock) {
  BlockCache cache(16 * kMiB);
  std::vector<std::thread> threads;
  for (unsigned char id = 1; id <= 4; ++id) {
    threads.emplace_back([&cache, id] {
      for (int i = 0; i < 50; ++i) {
        const std::size_t bytes = kMiB / 2 + static_cast<std::size_t>(i % 5) * 70000;
        auto* block = static_cast<unsigned char*>(cache.take(bytes));
        std::memset(block, id, bytes);
        std::this_thread::yield();
        EXPECT_TRUE(block[0] == id && block[bytes / 2] == id && block[bytes - 1] == id);
        cache.give_back(block);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace fx::engine
