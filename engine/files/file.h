// An open file for reads and writes at given offsets, safe to use from several threads and processes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace fx::engine {

class File {
 public:
  static Result<File> open_to_read(const std::filesystem::path& path);
  // An existing file, to be written in parts.
  static Result<File> open_to_write(const std::filesystem::path& path);
  // A new file of that size, its disk space reserved now: a full disk is an error here, not in the middle of a save.
  // Replaces a file of the same name.
  static Result<File> create(const std::filesystem::path& path, std::uint64_t bytes);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // when it was opened

  // Exactly out.size() bytes; a shorter file is an error.
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  Result<void> sync() const;
  int descriptor() const { return fd_; }

 private:
  File(int fd, std::filesystem::path path, std::uint64_t size);
  static Result<File> open(const std::filesystem::path& path, int flags);
  int fd_ = -1;
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
};

// "what: system's words" for errno, with the path as field and a hint where one is known.
Error file_error(const std::filesystem::path& path, const std::string& what, int error_number);
// Makes names created, renamed or removed in a folder durable.
Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace fx::engine
