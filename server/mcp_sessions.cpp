#include "server/mcp_sessions.h"

#include <sys/random.h>

#include <array>
#include <stdexcept>

namespace fx::server {
namespace {

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("the system gave no random bytes");
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

}  // namespace

std::string McpSessions::open() {
  const std::string id = random_id();
  const std::lock_guard lock(mutex_);
  ids_.insert(id);
  order_.push_back(id);
  while (order_.size() > limit_) {
    ids_.erase(order_.front());
    order_.pop_front();
  }
  return id;
}

bool McpSessions::known(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return ids_.contains(id);
}

bool McpSessions::close(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return ids_.erase(id) > 0;
}

}  // namespace fx::server
