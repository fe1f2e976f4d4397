#include "server/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace fx::server {

LineReader::LineReader(int descriptor, std::size_t max_bytes, std::function<bool()> still_wanted)
    : descriptor_(descriptor), max_bytes_(max_bytes), still_wanted_(std::move(still_wanted)) {}

std::optional<LineReader::Line> LineReader::next() {
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) return take(end, 1);
    searched_ = buffer_.size();
    if (buffer_.size() > max_bytes_) {
      dropping_ = true;
      buffer_.clear();
      searched_ = 0;
    }
    if (fill()) continue;
    if (buffer_.empty() && !dropping_) return std::nullopt;
    return take(buffer_.size(), 0);
  }
}

std::optional<LineReader::Line> LineReader::take(std::size_t end, std::size_t skip) {
  const bool too_long = std::exchange(dropping_, false) || end > max_bytes_;
  Line line{too_long ? std::string() : buffer_.substr(0, end), too_long};
  buffer_.erase(0, end + skip);
  searched_ = 0;
  return line;
}

bool LineReader::fill() {
  std::array<char, 65536> bytes;
  while (true) {
    pollfd wait{descriptor_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, 1000);
    if (ready == 0) {
      if (!still_wanted_()) return false;
      continue;
    }
    if (ready < 0 && errno != EINTR) return false;
    if (ready < 0) continue;
    const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    return true;
  }
}

}  // namespace fx::server
