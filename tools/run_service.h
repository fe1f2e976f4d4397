// What the run tools need from the outside: implemented by server/runs over SQLite and the supervisor process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spec/json.h"

namespace fx::tools {

enum class RunState { kQueued, kRunning, kSucceeded, kFailed, kStopped };
std::string_view to_string(RunState state);  // "queued", "running", "succeeded", "failed", "stopped"
bool has_ended(RunState state);

struct RunRecord {
  std::string id;
  RunState state = RunState::kQueued;
  std::filesystem::path folder;                            // spec.json, events.jsonl, rank_N.log, diagnosis.json, ...
  std::string reason;                                      // why it failed or was stopped
  std::string diagnosis;                                   // JSON text, once a failed run has been diagnosed
  long long created_ms = 0, started_ms = 0, ended_ms = 0;  // unix, 0: not yet
};

// Safe to call from several threads. All state is durable before a call returns.
class RunService {
 public:
  virtual ~RunService() = default;
  // spec: the run spec as JSON text, already checked. The same key and spec give the same run; the same key with
  // another spec is kConflict. Returns at once: the run lives in a process of its own. force_now: do not queue behind
  // other runs.
  virtual Result<RunRecord> launch(const std::string& spec, const std::string& idempotency_key, bool force_now) = 0;
  virtual Result<RunRecord> get(const std::string& run_id) = 0;
  virtual std::vector<RunRecord> list(std::size_t limit) = 0;
  // Asks the run to checkpoint and end; returns at once. Stopping a run that has ended is no error.
  virtual Result<RunRecord> stop(const std::string& run_id) = 0;
};

}  // namespace fx::tools
