#include "server/no_runs.h"

namespace fx::server {
namespace {

Error no_supervisor() {
  return unavailable("this build cannot launch or watch runs", "use a build with the run supervisor and fsdp-engine");
}

}  // namespace

Result<tools::RunRecord> NoRuns::launch(const std::string&, const std::string&, bool) {
  return no_supervisor();
}
Result<tools::RunRecord> NoRuns::get(const std::string&) {
  return no_supervisor();
}
std::vector<tools::RunRecord> NoRuns::list(std::size_t) {
  return {};
}
Result<tools::RunRecord> NoRuns::stop(const std::string&) {
  return no_supervisor();
}

}  // namespace fx::server
