#include "engine/comm/shm/exchange.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace fx::engine::shm {
namespace {

constexpr std::uint32_t kSlots = 4;
constexpr std::size_t kSlotBytes = std::size_t{512} << 10;
constexpr std::chrono::milliseconds kSlice{50};  // how often a waiting rank looks whether the others still live
constexpr std::size_t kTextBytes = 400;
// About 20 microseconds: the other rank is usually nearly there, and waking up costs more. Never when ranks outnumber
// cores: then it may be this very core that the other one waits for.
constexpr int kSpins = 500;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::size_t round_up(std::size_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

bool reached(std::uint32_t value, std::uint32_t target) {
  return static_cast<std::int32_t>(value - target) >= 0;
}

// Written before the lane's `begun` says so, and kept for two calls: a rank may be one call ahead of another.
struct Announcement {
  char operation[24];
  std::uint64_t bytes;
  std::uint32_t detail;
};

std::string describe(const Announcement& a) {
  return std::string(a.operation, strnlen(a.operation, sizeof a.operation)) + " of " + std::to_string(a.bytes) +
         " bytes";
}

}  // namespace

// The segment: header, one lane a rank, the counters consumed[writer][reader], then the slots.
struct Exchange::Header {
  char nonce[64];
  std::atomic<std::uint32_t> failure;  // 0 none, 1 being written, 2 written
  char what[kTextBytes];
};

struct alignas(64) Exchange::Lane {
  std::atomic<std::uint32_t> begun;    // collectives announced
  std::atomic<std::uint32_t> written;  // blocks written
  Announcement announced[2];
};

namespace {

struct alignas(64) Counter {
  std::atomic<std::uint32_t> value;
};

}  // namespace

Exchange::Exchange(int rank, int size, std::chrono::milliseconds timeout, Segment segment)
    : rank_(rank),
      size_(size),
      timeout_(timeout),
      segment_(std::move(segment)),
      spins_(static_cast<unsigned>(size) <= std::thread::hardware_concurrency() ? kSpins : 0),
      read_(static_cast<std::size_t>(size)) {}

Result<std::unique_ptr<Exchange>> Exchange::meet(int rank, int size, std::chrono::milliseconds timeout,
                                                 const KeyValue& store) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t control =
      round_up(sizeof(Header)) + round_up(ranks * sizeof(Lane)) + round_up(ranks * ranks * sizeof(Counter));
  auto segment = Segment::meet(rank, size, control + ranks * kSlots * kSlotBytes, store);
  if (!segment) return segment.error();
  return std::unique_ptr<Exchange>(new Exchange(rank, size, timeout, std::move(*segment)));
}

std::size_t Exchange::slot_bytes() const {
  return kSlotBytes;
}

Exchange::Lane& Exchange::lane(int rank) const {
  return reinterpret_cast<Lane*>(segment_.data() + round_up(sizeof(Header)))[rank];
}

std::atomic<std::uint32_t>& Exchange::consumed(int writer, int reader) const {
  const auto ranks = static_cast<std::size_t>(size_);
  auto* counters =
      reinterpret_cast<Counter*>(segment_.data() + round_up(sizeof(Header)) + round_up(ranks * sizeof(Lane)));
  return counters[static_cast<std::size_t>(writer) * ranks + static_cast<std::size_t>(reader)].value;
}

std::byte* Exchange::slot(int rank, std::uint32_t number) const {
  const auto ranks = static_cast<std::size_t>(size_);
  std::byte* slots = segment_.data() + round_up(sizeof(Header)) + round_up(ranks * sizeof(Lane)) +
                     round_up(ranks * ranks * sizeof(Counter));
  return slots + (static_cast<std::size_t>(rank) * kSlots + number % kSlots) * kSlotBytes;
}

void Exchange::begin(const Call& call) {
  call_ = call;
  ++sequence_;
  Announcement& mine = lane(rank_).announced[sequence_ % 2];
  std::memset(mine.operation, 0, sizeof mine.operation);
  std::memcpy(mine.operation, call.operation.data(), std::min(call.operation.size(), sizeof mine.operation - 1));
  mine.bytes = call.bytes;
  mine.detail = call.detail;
  lane(rank_).begun.store(sequence_, std::memory_order_release);
  wake_all(lane(rank_).begun);
  for (int peer = 0; peer < size_; ++peer) {
    wait(
        lane(peer).begun, [&](std::uint32_t begun) { return reached(begun, sequence_); }, peer);
  }
  check_peers();
}

void Exchange::check_peers() {
  const Announcement& mine = lane(rank_).announced[sequence_ % 2];
  for (int peer = 0; peer < size_; ++peer) {
    const Announcement& theirs = lane(peer).announced[sequence_ % 2];
    if (std::memcmp(mine.operation, theirs.operation, sizeof mine.operation) == 0 && mine.bytes == theirs.bytes &&
        mine.detail == theirs.detail) {
      continue;
    }
    const bool same_size = mine.bytes == theirs.bytes;
    fail("ranks disagree on collective " + std::to_string(sequence_) + ": rank " + std::to_string(rank_) + " does " +
         describe(mine) + ", rank " + std::to_string(peer) + " does " + describe(theirs) +
         (same_size ? " (with another dtype, reduction or root)" : ""));
  }
}

void Exchange::run(std::size_t count, const Write& write, const Read& read) {
  // One block ahead, so that no rank waits for one that is still reading.
  if (count > 0) write_block(0, write);
  for (std::size_t block = 0; block < count; ++block) {
    if (block + 1 < count) write_block(block + 1, write);
    read_block(block, read);
  }
}

void Exchange::write_block(std::size_t block, const Write& write) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const std::uint32_t needed = written_ + 1 - kSlots;  // this slot's last content has been read
    wait(
        consumed(rank_, peer), [&](std::uint32_t done) { return reached(done, needed); }, peer);
  }
  write(block, slot(rank_, written_));
  lane(rank_).written.store(++written_, std::memory_order_release);
  wake_all(lane(rank_).written);
}

void Exchange::read_block(std::size_t block, const Read& read) {
  for (int source = 0; source < size_; ++source) {
    if (source == rank_) {
      read(block, source, nullptr);
      continue;
    }
    std::uint32_t& done = read_[static_cast<std::size_t>(source)];
    wait(
        lane(source).written, [&](std::uint32_t written) { return reached(written, done + 1); }, source);
    read(block, source, slot(source, done));
    consumed(source, rank_).store(++done, std::memory_order_release);
    wake_all(consumed(source, rank_));
  }
}

void Exchange::wait(std::atomic<std::uint32_t>& word, const std::function<bool(std::uint32_t)>& ready, int peer) {
  std::uint32_t seen = word.load(std::memory_order_acquire);
  if (ready(seen)) return;
  for (int i = 0; i < spins_; ++i) {
    pause_briefly();
    seen = word.load(std::memory_order_acquire);
    if (ready(seen)) return;
  }
  const auto since = std::chrono::steady_clock::now();
  for (;;) {
    sleep_while(word, seen, kSlice);
    // Asked before the word is read again: a rank may end as soon as its part is done.
    const bool ended = segment_.has_ended(peer);
    seen = word.load(std::memory_order_acquire);
    if (ready(seen)) return;
    if (ended) {
      fail("the process of rank " + std::to_string(peer) + " (pid " + std::to_string(segment_.process_of(peer)) +
           ") has ended");
    }
    look_for_trouble(peer, since);
  }
}

void Exchange::look_for_trouble(int peer, std::chrono::steady_clock::time_point since) {
  const auto& header = *reinterpret_cast<const Header*>(segment_.data());
  if (header.failure.load(std::memory_order_acquire) == 2)
    throw std::runtime_error(std::string(header.what, strnlen(header.what, kTextBytes)));
  if (std::chrono::steady_clock::now() - since < timeout_) return;
  const std::uint32_t last = lane(peer).begun.load();
  fail("timeout after " + std::to_string(timeout_.count() / 1000) + " s: rank " + std::to_string(peer) +
       (last == sequence_ ? " stands still in " : " has not come to ") + call_.operation + ", collective " +
       std::to_string(sequence_) + " of the group; its last is collective " + std::to_string(last));
}

void Exchange::fail(const std::string& what) {
  auto& header = *reinterpret_cast<Header*>(segment_.data());
  std::uint32_t none = 0;
  if (header.failure.compare_exchange_strong(none, 1)) {
    std::memcpy(header.what, what.data(), std::min(what.size(), kTextBytes - 1));
    header.failure.store(2, std::memory_order_release);
  }
  throw std::runtime_error(what);
}

}  // namespace fx::engine::shm
