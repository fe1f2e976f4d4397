// A run's folder: the names of its files, and readers that a run in progress, a crash or a damaged file cannot stop.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spec/event.h"

namespace fx::tools {

inline constexpr const char* kSpecFile = "spec.json";            // as launched, complete
inline constexpr const char* kEngineSpecFile = "engine.json";    // what ranks read: data replaced by the token file
inline constexpr const char* kEventsFile = "events.jsonl";       // written by rank 0 (spec/event.h)
inline constexpr const char* kRanksFile = "ranks.json";          // processes of the ranks
inline constexpr const char* kSupervisorLog = "supervisor.log";  // starts and ends of processes
inline constexpr const char* kPrepareLog = "prepare.log";        // output of the tokenizer
inline constexpr const char* kTokenFile = "data.tok";
inline constexpr const char* kDiagnosisFile = "diagnosis.json";
std::string rank_log_name(int rank);  // "rank_0.log"

struct RankProcess {
  int rank = 0;
  long long pid = 0;
  std::string birth;   // process_birth() at its start
  std::string ending;  // "exit code 0", "killed by signal 9 (SIGKILL)"; empty while it runs
  bool alive() const;
};
// Empty when ranks have not been started yet.
std::vector<RankProcess> read_ranks(const std::filesystem::path& folder);
Result<void> write_ranks(const std::filesystem::path& folder, const std::vector<RankProcess>& ranks);

// What the event file says. A run that was started again in the same folder appends: the last start counts.
struct RunEvents {
  std::optional<StartEvent> start;
  std::vector<StepEvent> steps;  // ascending; a step that was computed twice is there once, as last reported
  std::vector<long long> step_times_ms;
  std::vector<CheckpointEvent> checkpoints;
  std::optional<FinishEvent> finish;
  std::vector<ErrorEvent> errors;
  std::vector<Event> recent;  // the last few of any kind
  std::size_t skipped = 0;    // lines that are no event
};
// Reads the head of the file and its last tail_bytes (all of it when it is not larger). A missing file has no events.
RunEvents read_run_events(const std::filesystem::path& folder, std::size_t tail_bytes);

struct Progress {
  long long step = 0, steps = 0;
  double tokens_per_s = 0;  // all ranks, over the last steps
  double step_s = 0;        // time of one step, over the last steps; 0: unknown
  std::optional<double> eta_s;
};
Progress progress_of(const RunEvents& events);

}  // namespace fx::tools
