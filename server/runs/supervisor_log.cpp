#include "server/runs/supervisor_log.h"

#include "base/clock.h"
#include "base/file.h"
#include "tools/run_folder.h"

namespace fx::server {

SupervisorLog::SupervisorLog(const std::filesystem::path& run_folder) : file_(run_folder / tools::kSupervisorLog) {}

void SupervisorLog::line(const std::string& text) const {
  const auto written = append_file(file_, iso_time(unix_millis()) + " supervisor: " + text + "\n");
  static_cast<void>(written);
}

}  // namespace fx::server
