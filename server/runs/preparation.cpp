#include "server/runs/preparation.h"

#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/process.h"
#include "base/secret.h"
#include "base/text.h"
#include "server/runs/programs.h"
#include "tools/run_folder.h"

namespace fx::server {
namespace {

constexpr std::uintmax_t kLeastFreeBytes = std::uintmax_t{64} << 20;

Result<void> check_space(const std::filesystem::path& folder) {
  std::error_code code;
  const auto space = std::filesystem::space(folder, code);
  if (code || space.available >= kLeastFreeBytes) return {};
  return unavailable("the disk is full: " + std::to_string(space.available >> 20) + " MiB free at " + folder.string(),
                     "free some space there, or use another data folder (--data)");
}

std::string last_words(const std::filesystem::path& log) {
  const auto text = read_tail(log, 16 << 10);
  if (!text) return "it said nothing";
  const auto lines = split_lines(*text);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!trim(*line).empty()) return quote_input(mask_secrets(*line), 400);
  }
  return "it said nothing";
}

Result<ExitStatus> run_to_end(const ProcessSpec& process, const std::function<bool()>& stop_asked) {
  const auto pid = start_process(process);
  if (!pid) return pid.error();
  while (true) {
    if (const auto status = poll_process(*pid)) return *status;
    if (stop_asked()) {
      signal_group(*pid, SIGKILL);
      wait_process(*pid);
      return Error{ErrorCode::kConflict, "stopped", {}, {}, {}};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<void> tokenize(const std::filesystem::path& folder, const RunSpec& spec, const SupervisorLog& log,
                      const std::function<bool()>& stop_asked) {
  const auto script = find_tokenizer();
  if (!script) return script.error();
  ProcessSpec process;
  process.command = {find_python(),      script->string(),
                     "--model",          spec.model,
                     "--data",           spec.data.path,
                     "--format",         spec.data.format,
                     "--max-seq-len",    std::to_string(spec.data.max_seq_len),
                     "--long-documents", spec.data.long_documents,
                     "--output",         (folder / tools::kTokenFile).string()};
  process.output = folder / tools::kPrepareLog;
  process.dies_with_parent = true;
  log.line("tokenizing " + quote_input(spec.data.path));
  const auto status = run_to_end(process, stop_asked);
  if (!status) return status.error();
  log.line("tokenizer: " + describe(*status));
  if (status->ok()) return {};
  Error error = invalid_argument("data.path", "the data could not be tokenized (" + describe(*status) +
                                                  "): " + last_words(folder / tools::kPrepareLog));
  if (status->signal) error.code = ErrorCode::kUnavailable;
  return error;
}

}  // namespace

Result<std::filesystem::path> prepare_run(const std::filesystem::path& folder, const RunSpec& spec,
                                          const SupervisorLog& log, const std::function<bool()>& stop_asked) {
  if (auto room = check_space(folder); !room) return room.error();
  RunSpec prepared = spec;
  if (spec.data.format != "tokens") {
    if (auto done = tokenize(folder, spec, log, stop_asked); !done) return done.error();
    prepared.data.path = (folder / tools::kTokenFile).string();
    prepared.data.format = "tokens";
  }
  const auto file = folder / tools::kEngineSpecFile;
  if (auto written = write_file_atomic(file, to_text(to_json(prepared), 2) + "\n"); !written) return written.error();
  return file;
}

}  // namespace fx::server
