// The memory that tree-sitter works in while this thread parses. Internal to knowledge/python.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace fx::knowledge::python {

// While one lives, all that tree-sitter allocates on this thread comes out of it, and none of it outlives it: a tree
// need not be deleted. What is given back is used again for blocks of about that size. One a thread at a time; without
// one, tree-sitter must not be called.
class ParseMemory {
 public:
  ParseMemory();
  ~ParseMemory();
  ParseMemory(const ParseMemory&) = delete;
  ParseMemory& operator=(const ParseMemory&) = delete;

  void* allocate(std::size_t bytes);
  void* resize(void* block, std::size_t bytes);  // as realloc()
  void release(void* block);

 private:
  static constexpr std::size_t kSizes = 64;  // of blocks: each 16 bytes up to 512, then powers of two

  char* carve(std::size_t bytes);

  std::array<void*, kSizes> released_ = {};  // by size; each block holds the address of the next
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace fx::knowledge::python
