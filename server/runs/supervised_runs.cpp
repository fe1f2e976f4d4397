#include "server/runs/supervised_runs.h"

#include <signal.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "server/runs/diagnosis_record.h"
#include "server/runs/programs.h"
#include "server/runs/run_id.h"
#include "tools/run_folder.h"

namespace fx::server {
namespace {

using tools::RunRecord;
using tools::RunState;

constexpr std::int64_t kClaimMillis = 10'000;  // a supervisor that has not claimed its run by then will not come

bool is_orphan(const StoredRun& run) {
  if (run.ended()) return false;
  if (run.supervisor == 0) return unix_millis() - run.record.created_ms > kClaimMillis;
  return !supervisor_alive(run);
}

}  // namespace

RunSettings default_run_settings(const std::filesystem::path& data_folder) {
  return {data_folder, {own_program().string(), "supervise"}};
}

SupervisedRuns::SupervisedRuns(RunSettings settings) : settings_(std::move(settings)) {
  settings_.data_folder = std::filesystem::absolute(settings_.data_folder).lexically_normal();
}

Result<RunStore*> SupervisedRuns::store() {
  if (store_) return &*store_;
  if (auto made = make_folder(settings_.data_folder / "runs"); !made) return made.error();
  auto opened = RunStore::open(settings_.data_folder / "state.db");
  if (!opened) return opened.error();
  if (auto done = recover(*opened); !done) return done.error();
  store_ = std::move(*opened);
  return &*store_;
}

// A server may have been killed between writing a run down and starting its supervisor: starting one again is safe,
// since only one can claim the run.
Result<void> SupervisedRuns::recover(RunStore& store) {
  auto runs = store.unfinished();
  if (!runs) return runs.error();
  for (auto& run : *runs) {
    if (run.supervisor == 0) {
      if (auto started = start_supervisor(run.record.folder); !started) return started.error();
    } else if (auto checked = reconcile(store, std::move(run)); !checked) {
      return checked.error();
    }
  }
  return {};
}

Result<void> SupervisedRuns::start_supervisor(const std::filesystem::path& folder) const {
  ProcessSpec process;
  process.command = settings_.supervisor_command;
  process.command.push_back(folder.string());
  process.folder = folder;
  process.output = folder / tools::kSupervisorLog;
  const auto pid = start_detached(process);
  if (!pid) return unavailable("the run's supervisor could not be started: " + pid.error().message, pid.error().hint);
  return {};
}

Result<StoredRun> SupervisedRuns::reconcile(RunStore& store, StoredRun run) {
  if (!is_orphan(run)) return run;
  // Read again: it may have ended between the two looks.
  auto again = store.get(run.record.id);
  if (!again || !is_orphan(*again)) return again;
  const std::string reason =
      again->supervisor == 0
          ? "its supervisor never began"
          : "supervisor killed: process " + std::to_string(again->supervisor) + " is gone, and its ranks with it";
  const auto ranks = static_cast<int>(tools::read_ranks(again->record.folder).size());
  const auto done =
      store.finish(run.record.id, RunState::kFailed, reason, record_diagnosis(again->record.folder, ranks));
  if (!done) return done.error();
  return store.get(run.record.id);
}

Result<RunRecord> SupervisedRuns::launch(const std::string& spec, const std::string& idempotency_key, bool force_now) {
  const std::lock_guard lock(mutex_);
  const auto opened = store();
  if (!opened) return opened.error();
  if (const auto engine = find_engine(); !engine) return engine.error();
  NewRun run;
  run.id = new_run_id(unix_millis());
  run.folder = settings_.data_folder / "runs" / run.id;
  run.spec = spec;
  run.idempotency_key = idempotency_key;
  run.force_now = force_now;
  if (auto made = make_folder(run.folder); !made) return made.error();
  auto written = write_file_atomic(run.folder / tools::kSpecFile, spec + "\n");
  auto inserted = written ? (*opened)->insert(run) : Result<Inserted>(written.error());
  if (!inserted || !inserted->is_new) {
    std::error_code ignored;
    std::filesystem::remove_all(run.folder, ignored);
    if (!inserted) return inserted.error();
    return inserted->run.record;
  }
  if (auto started = start_supervisor(run.folder); !started) {
    const auto noted = (*opened)->finish(run.id, RunState::kFailed, started.error().message);
    static_cast<void>(noted);
    return started.error();
  }
  return inserted->run.record;
}

Result<RunRecord> SupervisedRuns::get(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  const auto opened = store();
  if (!opened) return opened.error();
  auto run = (*opened)->get(run_id);
  if (run) run = reconcile(**opened, std::move(*run));
  if (!run) return run.error();
  return run->record;
}

std::vector<RunRecord> SupervisedRuns::list(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<RunRecord> records;
  const auto opened = store();
  if (!opened) return records;
  auto runs = (*opened)->list(limit);
  if (!runs) return records;
  for (auto& run : *runs) {
    auto checked = reconcile(**opened, run);
    records.push_back(checked ? checked->record : run.record);
  }
  return records;
}

Result<RunRecord> SupervisedRuns::stop(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  const auto opened = store();
  if (!opened) return opened.error();
  auto run = (*opened)->get(run_id);
  if (!run) return run.error();
  if (run->ended()) return run->record;
  if (auto asked = (*opened)->request_stop(run_id); !asked) return asked.error();
  run = (*opened)->get(run_id);  // a supervisor that claims later than this reads the request itself
  if (!run) return run.error();
  if (!run->ended() && supervisor_alive(*run)) ::kill(run->supervisor, SIGTERM);
  run = reconcile(**opened, std::move(*run));
  if (!run) return run.error();
  return run->record;
}

Result<void> SupervisedRuns::ready() {
  const std::lock_guard lock(mutex_);
  const auto opened = store();
  if (!opened) return opened.error();
  return {};
}

}  // namespace fx::server
