#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace fx {
namespace {

Error system_error(const std::filesystem::path& path, const std::string& what) {
  const int code = errno;
  Error error = code == ENOENT ? not_found(what + ": no such file") : unavailable(what + ": " + std::strerror(code));
  if (code == ENOSPC) error.hint = "free some disk space";
  if (code == EACCES) error.hint = "check the file's permissions";
  error.field = path.string();
  return error;
}

Error too_large(const std::filesystem::path& path, std::size_t max_bytes) {
  const std::string limit = std::to_string(max_bytes >> 20) + " MiB";
  return {ErrorCode::kTooLarge, "larger than " + limit, "send a part of it", path.string(), {}};
}

// Closes on scope exit.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ > 2) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<std::string> read_all(int fd, const std::filesystem::path& path, std::size_t max_bytes) {
  std::string text;
  std::size_t used = 0;
  while (true) {
    text.resize(std::max<std::size_t>(used * 2, used + 65536));
    const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "cannot read");
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > max_bytes) return too_large(path, max_bytes);
  }
  text.resize(used);
  return text;
}

Result<void> write_all(int fd, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return system_error(path, "cannot write");
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return system_error(path, "cannot open");
  return read_all(fd.get(), path, max_bytes);
}

Result<std::string> read_stdin(std::size_t max_bytes) {
  return read_all(0, "standard input", max_bytes);
}

Result<void> stream_file(const std::filesystem::path& path, const std::function<void(std::string_view)>& take,
                         std::size_t max_bytes) {
  const bool standard_input = path == "-";
  const Descriptor fd(standard_input ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return system_error(path, "cannot open");
  std::string piece(std::size_t{256} << 10, '\0');
  for (std::size_t used = 0;;) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "cannot read");
    if (got == 0) return {};
    used += static_cast<std::size_t>(got);
    if (used > max_bytes) return too_large(path, max_bytes);
    take(std::string_view(piece.data(), static_cast<std::size_t>(got)));
  }
}

Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  {
    const Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) return system_error(path, "cannot create");
    auto written = write_all(fd.get(), text, path);
    if (written && ::fsync(fd.get()) != 0) written = system_error(path, "cannot sync");
    if (!written) {
      ::unlink(temporary.c_str());
      return written;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return system_error(path, "cannot rename");
  return {};
}

Result<void> append_file(const std::filesystem::path& path, std::string_view text) {
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (fd.get() < 0) return system_error(path, "cannot open");
  return write_all(fd.get(), text, path);
}

Result<void> make_folder(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (!code) return {};
  errno = code.value();
  return system_error(path, "cannot create the folder");
}

Result<std::string> read_tail(const std::filesystem::path& path, std::size_t max_bytes) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return system_error(path, "cannot open");
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  if (size < 0) return system_error(path, "cannot seek");
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(max_bytes));
  if (::lseek(fd.get(), begin, SEEK_SET) < 0) return system_error(path, "cannot seek");
  auto text = read_all(fd.get(), path, max_bytes + (std::size_t{16} << 20));
  if (text && begin > 0) {
    const auto line_end = text->find('\n');
    text->erase(0, line_end == std::string::npos ? 0 : line_end + 1);
  }
  return text;
}

std::filesystem::path data_folder(const std::string& override_path) {
  if (!override_path.empty()) return override_path;
  if (const char* home = std::getenv("FSDP_EXPERT_HOME"); home != nullptr && *home != '\0') return home;
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg != nullptr && *xdg != '\0') {
    return std::filesystem::path(xdg) / "fsdp-expert";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr && *home != '\0' ? home : "/tmp") / ".local/share/fsdp-expert";
}

}  // namespace fx
