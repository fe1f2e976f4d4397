#include "server/runs/run_store.h"

#include <array>

#include "base/clock.h"
#include "base/process.h"

namespace fx::server {
namespace {

using tools::RunState;

constexpr std::array<std::string_view, 1> kSchema = {R"(
CREATE TABLE runs(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK(state IN ('queued', 'running', 'succeeded', 'failed', 'stopped')),
  reason TEXT NOT NULL DEFAULT '',
  diagnosis TEXT NOT NULL DEFAULT '',
  folder TEXT NOT NULL,
  spec TEXT NOT NULL,
  idempotency_key TEXT UNIQUE,
  force_now INTEGER NOT NULL DEFAULT 0,
  stop_requested INTEGER NOT NULL DEFAULT 0,
  supervisor_pid INTEGER NOT NULL DEFAULT 0,
  supervisor_birth TEXT NOT NULL DEFAULT '',
  created_ms INTEGER NOT NULL,
  started_ms INTEGER NOT NULL DEFAULT 0,
  ended_ms INTEGER NOT NULL DEFAULT 0);
CREATE INDEX runs_state ON runs(state);
)"};

constexpr const char* kColumns =
    "id, state, reason, diagnosis, folder, spec, force_now, stop_requested, supervisor_pid, supervisor_birth, "
    "created_ms, started_ms, ended_ms";

// A run whose row is younger than this may still get its supervisor from the server that is launching it.
constexpr std::int64_t kLaunchMillis = 10'000;

RunState parse_state(const std::string& text) {
  for (const RunState state : {RunState::kQueued, RunState::kRunning, RunState::kSucceeded, RunState::kFailed}) {
    if (text == to_string(state)) return state;
  }
  return RunState::kStopped;
}

StoredRun read_row(const knowledge::Statement& row) {
  StoredRun run;
  run.record.id = row.text(0);
  run.record.state = parse_state(row.text(1));
  run.record.reason = row.text(2);
  run.record.diagnosis = row.text(3);
  run.record.folder = row.text(4);
  run.spec = row.text(5);
  run.force_now = row.integer(6) != 0;
  run.stop_requested = row.integer(7) != 0;
  run.supervisor = static_cast<pid_t>(row.integer(8));
  run.supervisor_birth = row.text(9);
  run.record.created_ms = row.integer(10);
  run.record.started_ms = row.integer(11);
  run.record.ended_ms = row.integer(12);
  return run;
}

bool is_waiting(const StoredRun& run, const RunStore::IsAlive& is_alive) {
  if (run.supervisor == 0) return unix_millis() - run.record.created_ms < kLaunchMillis;
  return is_alive(run);
}

}  // namespace

bool StoredRun::ended() const {
  return record.state != RunState::kQueued && record.state != RunState::kRunning;
}

bool supervisor_alive(const StoredRun& run) {
  return run.supervisor > 0 && process_birth(run.supervisor) == run.supervisor_birth;
}

Result<RunStore> RunStore::open(const std::filesystem::path& file) {
  auto database = knowledge::Database::open(file);
  if (!database) return database.error();
  // FULL: a commit survives a power cut too, not only a crash of ours.
  if (auto set = database->execute("PRAGMA synchronous=FULL"); !set) return set.error();
  if (auto migrated = database->migrate(kSchema); !migrated) return migrated.error();
  return RunStore(std::move(*database));
}

Result<std::vector<StoredRun>> RunStore::select(const std::string& where_and_order, const std::string& parameter) {
  auto statement = database_.prepare("SELECT " + std::string(kColumns) + " FROM runs " + where_and_order);
  if (!statement) return statement.error();
  if (!parameter.empty()) statement->bind(1, parameter);
  std::vector<StoredRun> runs;
  while (true) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return runs;
    runs.push_back(read_row(*statement));
  }
}

Result<bool> RunStore::update(const std::string& sql, const std::vector<std::string>& parameters) {
  auto statement = database_.prepare(sql);
  if (!statement) return statement.error();
  for (std::size_t i = 0; i < parameters.size(); ++i) statement->bind(static_cast<int>(i) + 1, parameters[i]);
  if (auto done = statement->run(); !done) return done.error();
  return database_.changes() > 0;
}

Result<Inserted> RunStore::insert(const NewRun& run) {
  auto transaction = knowledge::Transaction::begin(database_);
  if (!transaction) return transaction.error();
  if (!run.idempotency_key.empty()) {
    auto known = select("WHERE idempotency_key = ?1", run.idempotency_key);
    if (!known) return known.error();
    if (!known->empty()) {
      StoredRun& before = known->front();
      if (before.spec == run.spec) return Inserted{std::move(before), false};
      return Error{ErrorCode::kConflict,
                   "this key already launched " + before.record.id + " with another run spec",
                   "use a new key for another run",
                   "idempotency_key",
                   {}};
    }
  }
  auto statement = database_.prepare(
      "INSERT INTO runs(id, state, folder, spec, idempotency_key, force_now, created_ms) "
      "VALUES(?1, 'queued', ?2, ?3, ?4, ?5, ?6)");
  if (!statement) return statement.error();
  statement->bind(1, run.id).bind(2, run.folder.string()).bind(3, run.spec);
  if (run.idempotency_key.empty()) {
    statement->bind_null(4);
  } else {
    statement->bind(4, run.idempotency_key);
  }
  statement->bind(5, std::int64_t{run.force_now}).bind(6, unix_millis());
  if (auto done = statement->run(); !done) return done.error();
  if (auto done = transaction->commit(); !done) return done.error();
  auto inserted = get(run.id);
  if (!inserted) return inserted.error();
  return Inserted{std::move(*inserted), true};
}

Result<StoredRun> RunStore::get(const std::string& id) {
  auto rows = select("WHERE id = ?1", id);  // an empty id is bound as NULL, which equals nothing
  if (!rows) return rows.error();
  if (rows->empty()) {
    Error error = not_found("there is no run with this id", "the id is what launch_run returned");
    error.field = "run_id";
    return error;
  }
  return std::move(rows->front());
}

Result<std::vector<StoredRun>> RunStore::list(std::size_t limit) {
  return select("ORDER BY seq DESC LIMIT " + std::to_string(limit));
}

Result<std::vector<StoredRun>> RunStore::unfinished() {
  return select("WHERE state IN ('queued', 'running') ORDER BY seq");
}

Result<bool> RunStore::claim(const std::string& id, pid_t pid, const std::string& birth, const IsAlive& is_alive) {
  auto transaction = knowledge::Transaction::begin(database_);
  if (!transaction) return transaction.error();
  auto run = get(id);
  if (!run) return run.error();
  const bool taken = run->supervisor != 0 && run->supervisor != pid && is_alive(*run);
  if (run->ended() || taken) return false;
  auto changed = update("UPDATE runs SET supervisor_pid = ?1, supervisor_birth = ?2 WHERE id = ?3",
                        {std::to_string(pid), birth, id});
  if (!changed) return changed;
  if (auto done = transaction->commit(); !done) return done.error();
  return true;
}

Result<bool> RunStore::begin_if_its_turn(const std::string& id, const IsAlive& is_alive) {
  auto transaction = knowledge::Transaction::begin(database_);
  if (!transaction) return transaction.error();
  const auto self = get(id);
  if (!self) return self.error();
  if (self->record.state != RunState::kQueued) return self->record.state == RunState::kRunning;
  auto others = unfinished();
  if (!others) return others.error();
  bool older = true;
  for (const auto& other : *others) {
    if (self->force_now) break;
    if (other.record.id == id) {
      older = false;
      continue;
    }
    const bool running = other.record.state == RunState::kRunning;
    if ((running && is_alive(other)) || (!running && older && is_waiting(other, is_alive))) return false;
  }
  auto changed =
      update("UPDATE runs SET state = 'running', started_ms = ?1 WHERE id = ?2", {std::to_string(unix_millis()), id});
  if (!changed) return changed;
  if (auto done = transaction->commit(); !done) return done.error();
  return true;
}

Result<bool> RunStore::finish(const std::string& id, RunState state, const std::string& reason,
                              const std::string& diagnosis) {
  return update(
      "UPDATE runs SET state = ?1, reason = ?2, diagnosis = ?3, ended_ms = ?4 "
      "WHERE id = ?5 AND state IN ('queued', 'running')",
      {std::string(to_string(state)), reason, diagnosis, std::to_string(unix_millis()), id});
}

Result<void> RunStore::request_stop(const std::string& id) {
  auto changed = update("UPDATE runs SET stop_requested = 1 WHERE id = ?1", {id});
  if (!changed) return changed.error();
  return {};
}

}  // namespace fx::server
