// Sessions of the handshake revisions over HTTP: only their ids, no state of a client is kept.
#pragma once

#include <deque>
#include <mutex>
#include <set>
#include <string>

namespace fx::server {

// Safe to use from several threads. Beyond the limit the oldest session is forgotten.
class McpSessions {
 public:
  explicit McpSessions(std::size_t limit = 1000) : limit_(limit) {}

  std::string open();  // an unguessable id of visible ASCII characters
  bool known(const std::string& id) const;
  bool close(const std::string& id);  // false: there was none

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::set<std::string> ids_;
  std::deque<std::string> order_;  // oldest first; may hold closed ones
};

}  // namespace fx::server
