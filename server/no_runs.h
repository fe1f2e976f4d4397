// The run service of a build without a run supervisor: every request says so.
#pragma once

#include "tools/run_service.h"

namespace fx::server {

class NoRuns final : public tools::RunService {
 public:
  Result<tools::RunRecord> launch(const std::string& spec, const std::string& idempotency_key, bool force_now) override;
  Result<tools::RunRecord> get(const std::string& run_id) override;
  std::vector<tools::RunRecord> list(std::size_t limit) override;
  Result<tools::RunRecord> stop(const std::string& run_id) override;
};

}  // namespace fx::server
