#include "engine/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fx::engine {

Error file_error(const std::filesystem::path& path, const std::string& what, int error_number) {
  Error error = error_number == ENOENT ? not_found(what + ": no such file or folder")
                                       : unavailable(what + ": " + std::strerror(error_number));
  if (error_number == ENOENT) error.hint = "check the path";
  if (error_number == ENOSPC || error_number == EDQUOT) error.hint = "free some disk space, or write elsewhere";
  if (error_number == EACCES || error_number == EPERM) error.hint = "check the permissions";
  if (error_number == EFBIG) error.hint = "the file system or a limit (ulimit -f) allows no file this large";
  error.field = path.string();
  return error;
}

File::File(int fd, std::filesystem::path path, std::uint64_t size) : fd_(fd), path_(std::move(path)), size_(size) {}
File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), size_(other.size_) {}
File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  return *this;
}
File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::open(const std::filesystem::path& path, int flags) {
  // O_NONBLOCK: a named pipe in place of the file must not hang us.
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) return file_error(path, "cannot open", errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const Error error = file_error(path, "cannot inspect", errno);
    ::close(fd);
    return error;
  }
  File file(fd, path, static_cast<std::uint64_t>(status.st_size));
  if (!S_ISREG(status.st_mode)) return invalid_argument(path.string(), "is not a regular file", "give a file");
  return file;
}

Result<File> File::open_to_read(const std::filesystem::path& path) {
  return open(path, O_RDONLY);
}
Result<File> File::open_to_write(const std::filesystem::path& path) {
  return open(path, O_RDWR);
}

Result<File> File::create(const std::filesystem::path& path, std::uint64_t bytes) {
  auto file = open(path, O_RDWR | O_CREAT | O_TRUNC);
  if (!file) return file;
  if (bytes > 0) {
    const int failed = ::posix_fallocate(file->fd_, 0, static_cast<off_t>(bytes));
    if (failed != 0) {
      ::unlink(path.c_str());
      return file_error(path, "cannot reserve " + std::to_string(bytes >> 20) + " MiB", failed);
    }
  }
  file->size_ = bytes;
  return file;
}

Result<void> File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(fd_, out.data(), std::min<std::size_t>(out.size(), std::size_t{1} << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path_, "cannot read", errno);
    if (got == 0) return invalid_argument(path_.string(), "the file ends too early", "it is cut off: copy it again");
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<void> File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30),
                                 static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error(path_, "cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

Result<void> File::sync() const {
  if (::fsync(fd_) != 0) return file_error(path_, "cannot sync", errno);
  return {};
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return file_error(folder, "cannot open", errno);
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // Some file systems cannot sync a folder; the data itself is safe.
  if (failed != 0 && failed != EINVAL) return file_error(folder, "cannot sync", failed);
  return {};
}

}  // namespace fx::engine
