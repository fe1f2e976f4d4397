// The supervisor's own log: "2026-11-30T06:07:13.042Z supervisor: rank 1 (pid 4242) exit code 1".
#pragma once

#include <filesystem>
#include <string>

namespace fx::server {

class SupervisorLog {
 public:
  explicit SupervisorLog(const std::filesystem::path& run_folder);
  void line(const std::string& text) const;  // a full disk is no reason to stop watching: errors are ignored

 private:
  std::filesystem::path file_;
};

}  // namespace fx::server
