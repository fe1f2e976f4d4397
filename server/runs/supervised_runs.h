// The run service over state.db: each run lives in a supervisor process of its own.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/runs/run_store.h"

namespace fx::server {

struct RunSettings {
  std::filesystem::path data_folder;
  std::vector<std::string> supervisor_command;  // gets the run's folder as its last word
};
// Supervisors are our own program's hidden subcommand.
RunSettings default_run_settings(const std::filesystem::path& data_folder);

// The store is opened on first use; then, and at every get, runs whose supervisor is gone are marked as failed.
class SupervisedRuns final : public tools::RunService {
 public:
  explicit SupervisedRuns(RunSettings settings);

  Result<tools::RunRecord> launch(const std::string& spec, const std::string& idempotency_key, bool force_now) override;
  Result<tools::RunRecord> get(const std::string& run_id) override;
  std::vector<tools::RunRecord> list(std::size_t limit) override;
  Result<tools::RunRecord> stop(const std::string& run_id) override;
  // Opens the store now. Error: why it cannot be used.
  Result<void> ready();

 private:
  Result<RunStore*> store();
  Result<void> recover(RunStore& store);
  Result<void> start_supervisor(const std::filesystem::path& folder) const;
  Result<StoredRun> reconcile(RunStore& store, StoredRun run);
  RunSettings settings_;
  std::mutex mutex_;  // one at a time may use store_
  std::optional<RunStore> store_;
};

}  // namespace fx::server
