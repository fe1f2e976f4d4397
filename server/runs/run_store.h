// The durable list of runs: one row a run in state.db, shared by servers and supervisors of one data folder. Every
// change is on disk before its call returns.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "knowledge/store/database.h"
#include "tools/run_service.h"

namespace fx::server {

struct StoredRun {
  tools::RunRecord record;
  std::string spec;              // JSON text, complete
  pid_t supervisor = 0;          // 0: none has begun
  std::string supervisor_birth;  // process_birth() of it
  bool stop_requested = false;
  bool force_now = false;  // does not wait for other runs

  bool ended() const;
};

struct NewRun {
  std::string id;
  std::filesystem::path folder;
  std::string spec;
  std::string idempotency_key;  // empty: none
  bool force_now = false;
};

struct Inserted {
  StoredRun run;
  bool is_new = false;  // false: the run that the key named before
};

// Not safe to share between threads; several processes may each have their own.
class RunStore {
 public:
  using IsAlive = std::function<bool(const StoredRun&)>;

  static Result<RunStore> open(const std::filesystem::path& file);

  // Queued. The same key and spec give the same run, the same key with another spec is kConflict.
  Result<Inserted> insert(const NewRun& run);
  Result<StoredRun> get(const std::string& id);
  Result<std::vector<StoredRun>> list(std::size_t limit);  // newest first
  Result<std::vector<StoredRun>> unfinished();             // oldest first

  // Makes a process the supervisor of a run that has not ended and has no other living one. False: refused.
  Result<bool> claim(const std::string& id, pid_t pid, const std::string& birth, const IsAlive& is_alive);
  // Queued -> running, unless another run is running or an older one waits. False: not its turn yet.
  Result<bool> begin_if_its_turn(const std::string& id, const IsAlive& is_alive);
  // To an end state, with the diagnosis if there is one. False: it had ended before, and nothing changed.
  Result<bool> finish(const std::string& id, tools::RunState state, const std::string& reason,
                      const std::string& diagnosis = {});
  Result<void> request_stop(const std::string& id);

 private:
  explicit RunStore(knowledge::Database database) : database_(std::move(database)) {}
  Result<std::vector<StoredRun>> select(const std::string& where_and_order, const std::string& parameter = {});
  Result<bool> update(const std::string& sql, const std::vector<std::string>& parameters);
  knowledge::Database database_;
};

// Whether the run's supervisor still lives.
bool supervisor_alive(const StoredRun& run);

}  // namespace fx::server
