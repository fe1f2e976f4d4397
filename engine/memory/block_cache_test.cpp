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
  BlockCache cache;
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

TEST(BlockCache, ReleasesTheOldestWhenANewBlockWouldLiftThePeak) {
  BlockCache cache;
  void* old = cache.take(kMiB);
  void* middle = cache.take(2 * kMiB);
  void* young = cache.take(2 * kMiB);
  cache.give_back(old);
  cache.give_back(middle);
  cache.give_back(young);
  const std::size_t peak = cache.kept_bytes();
  EXPECT_GE(peak, 5 * kMiB);
  void* large = cache.take(3 * kMiB);  // together with what is kept: more than was ever in use
  EXPECT_LE(cache.kept_bytes() + 3 * kMiB, peak);
  void* again = cache.take(2 * kMiB);
  EXPECT_EQ(again, young);
  cache.give_back(large);
  cache.give_back(again);
}

TEST(BlockCache, KeepsWhatFitsUnderThePeak) {
  BlockCache cache;
  void* peak = cache.take(16 * kMiB);
  cache.give_back(peak);
  void* small = cache.take(kMiB);  // the large one has to go: both would be more than ever was in use
  EXPECT_EQ(cache.kept_bytes(), 0u);
  void* other = cache.take(2 * kMiB);
  cache.give_back(small);
  cache.give_back(other);
  void* third = cache.take(4 * kMiB);  // now there is room below the peak
  EXPECT_GE(cache.kept_bytes(), 3 * kMiB);
  cache.give_back(third);
}

TEST(BlockCache, ThreadsNeverShareABlock) {
  BlockCache cache;
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
