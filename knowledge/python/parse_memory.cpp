#include "knowledge/python/parse_memory.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace fx::knowledge::python {
namespace {

constexpr std::size_t kChunk = 64u << 10;
constexpr std::size_t kStep = 16, kSteps = 32;
// In front of each block: which size it has.
using Head = std::uint64_t;

std::size_t size_number(std::size_t bytes) {
  if (bytes <= kStep * kSteps) return bytes == 0 ? 0 : (bytes - 1) / kStep;
  return kSteps + static_cast<std::size_t>(std::bit_width(bytes - 1)) - std::bit_width(kStep * kSteps);
}

std::size_t block_size(std::size_t number) {
  return number < kSteps ? (number + 1) * kStep : kStep * kSteps << (number - kSteps + 1);
}

Head& head_of(void* block) {
  return static_cast<Head*>(block)[-1];
}

// tree-sitter takes its allocator once a process and hands it no context.
thread_local ParseMemory* current = nullptr;

void* allocate_here(std::size_t bytes) {
  return current->allocate(bytes);
}

void* allocate_zeros(std::size_t count, std::size_t bytes) {
  void* block = current->allocate(count * bytes);
  return std::memset(block, 0, count * bytes);
}

void* resize_here(void* block, std::size_t bytes) {
  return current->resize(block, bytes);
}

void release_here(void* block) {
  current->release(block);
}

bool take_over() {
  ts_set_allocator(allocate_here, allocate_zeros, resize_here, release_here);
  return true;
}

}  // namespace

ParseMemory::ParseMemory() {
  static const bool taken = take_over();
  static_cast<void>(taken);
  current = this;
}

ParseMemory::~ParseMemory() {
  current = nullptr;
}

char* ParseMemory::carve(std::size_t bytes) {
  if (bytes > left_) {
    left_ = std::max(kChunk, bytes);
    next_ = chunks_.emplace_back(std::make_unique_for_overwrite<char[]>(left_)).get();
  }
  left_ -= bytes;
  return std::exchange(next_, next_ + bytes);
}

void* ParseMemory::allocate(std::size_t bytes) {
  const std::size_t number = size_number(bytes);
  if (void* block = released_[number]) {
    std::memcpy(&released_[number], block, sizeof(void*));
    return block;
  }
  void* block = carve(sizeof(Head) + block_size(number)) + sizeof(Head);
  head_of(block) = number;
  return block;
}

void* ParseMemory::resize(void* block, std::size_t bytes) {
  if (block == nullptr) return allocate(bytes);
  const std::size_t had = block_size(head_of(block));
  if (bytes <= had) return block;
  void* larger = allocate(bytes);
  std::memcpy(larger, block, had);
  release(block);
  return larger;
}

void ParseMemory::release(void* block) {
  if (block == nullptr) return;
  void*& first = released_[head_of(block)];
  std::memcpy(block, &first, sizeof(void*));
  first = block;
}

}  // namespace fx::knowledge::python
