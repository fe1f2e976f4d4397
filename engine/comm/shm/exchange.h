// Collectives of the ranks of one host through shared memory. Data flow in blocks through a few slots a rank: a rank
// writes its block, the others read it where it lies. Every collective is announced first, so that ranks which disagree
// are told at once, and a rank that stands still or has ended is named.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/shm/segment.h"

namespace fx::engine::shm {

// What every rank must agree on before data flow.
struct Call {
  std::string operation;     // all_gather, reduce_scatter, ... at most 23 characters
  std::uint64_t bytes = 0;   // of this rank's input
  std::uint32_t detail = 0;  // dtype, reduction and root: any difference between ranks is an error
};

// Not safe for use from several threads. All errors are std::runtime_error and final: the group is broken afterwards.
class Exchange {
 public:
  // Called by all ranks together; errors as Segment::meet.
  static Result<std::unique_ptr<Exchange>> meet(int rank, int size, std::chrono::milliseconds timeout,
                                                const KeyValue& store);

  int rank() const { return rank_; }
  int size() const { return size_; }
  // The most bytes a block may have.
  std::size_t slot_bytes() const;

  // Announces the call and waits until all ranks have announced the same. It is the barrier, too.
  void begin(const Call& call);
  // Runs blocks 0, 1, ..., count - 1: write(block, slot) fills this rank's slot; read(block, source, slot) is called
  // for every other rank in rank order once that rank has written its block; reads of this rank itself have slot
  // nullptr.
  using Write = std::function<void(std::size_t block, std::byte* slot)>;
  using Read = std::function<void(std::size_t block, int source, const std::byte* slot)>;
  void run(std::size_t count, const Write& write, const Read& read);

 private:
  struct Header;
  struct Lane;
  Exchange(int rank, int size, std::chrono::milliseconds timeout, Segment segment);
  Lane& lane(int rank) const;
  std::atomic<std::uint32_t>& consumed(int writer, int reader) const;
  std::byte* slot(int rank, std::uint32_t number) const;
  void check_peers();
  void write_block(std::size_t block, const Write& write);
  void read_block(std::size_t block, const Read& read);
  // Sleeps until ready(word); throws when a rank has ended, has failed, or the timeout is over.
  void wait(std::atomic<std::uint32_t>& word, const std::function<bool(std::uint32_t)>& ready, int peer);
  [[noreturn]] void fail(const std::string& what);
  void look_for_trouble(int peer, std::chrono::steady_clock::time_point since);

  int rank_;
  int size_;
  std::chrono::milliseconds timeout_;
  Segment segment_;
  int spins_;  // looks at a word before sleeping on it
  Call call_;
  std::uint32_t sequence_ = 0;  // collectives begun
  std::uint32_t written_ = 0;   // blocks, since the start
  std::vector<std::uint32_t> read_;
};

}  // namespace fx::engine::shm
