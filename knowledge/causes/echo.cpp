#include "knowledge/causes/echo.h"

#include <algorithm>
#include <iterator>

#include "knowledge/causes/host_memory.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {

bool is_echo(std::string_view low) {
  return matches_any(
      "childfailederror|distbackenderror|diststoreerror|distnetworkerror|socket timeout|connection reset by peer|"
      "connection closed by peer|remote process exited|remote process exiting|ncclremoteerror|ncclsystemerror|ncclinternalerror|hcclallreduce|hccl function|socket times out|actordiederror|raytaskerror|rayactorerror|checkpointexception|"
      "calledprocesserror|processexitedexception|signalexception|rendezvous|broken pipe|missing ranks|"
      "keyboardinterrupt|systemexit|processraisedexception|deprecat|worker died|engine core initialization|what():|"
      "watchdog|timed out|ur_result_error_out_of_|outofmemoryerror|out of memory|unhandled error|warning:",
      low);
}

bool refuses(std::string_view low) {
  return matches_any(
      "error|must |expect|cannot|can't|could not|got |requires*uniform|raise|assert|fail|not supported|unsupported|not allowed|"
      "both |mismatch|instead of|mix of",
      low);
}

Claim claim_of_refusals(const Scene& scene, const std::vector<int>& lines, double score) {
  Claim out;
  for (const int line : lines) {
    if (!refuses(scene.book.at(line).low)) continue;
    out.score = score;
    if (out.lines.size() < 3) out.show(line);
  }
  return out;
}

std::vector<int> without_echoes(const Scene& scene, const std::vector<int>& lines) {
  std::vector<int> out;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(out),
               [&](int line) { return !is_echo(scene.book.at(line).low); });
  return out;
}

namespace {

// The launcher saw this rank's process fail and ended all the others itself.
bool ended_alone(const Scene& scene, int rank) {
  if (!scene.book.find("core", "closing") || scene.exits.empty()) return false;
  return std::all_of(scene.exits.begin(), scene.exits.end(), [&](const ProcessExit& exit) {
    return (exit.rank >= 0 ? exit.rank : exit.local_rank) == rank || exit.signal == 15;
  });
}

}  // namespace

std::optional<int> lone_raiser(const Scene& scene) {
  const auto& book = scene.book;
  int rank = -1, first = -1;
  for (const auto& event : scene.exceptions) {
    if (is_echo(book.at(event.line).low)) continue;
    const int own = book.at(event.line).rank;
    if (own < 0 || (rank >= 0 && own != rank)) return std::nullopt;
    rank = own;
    if (first < 0) first = event.line;
  }
  const bool outlived =
      rank >= 0 && std::any_of(book.lines.begin() + first, book.lines.end(),
                               [&](const LogLine& line) { return line.rank >= 0 && line.rank != rank; });
  // The main rank's log alone may be all that was kept; another rank's exception was seen among the others' silence.
  return outlived || rank > 0 || (rank == 0 && ended_alone(scene, rank)) ? std::optional<int>(rank) : std::nullopt;
}

bool stopped(const Scene& scene) {
  const auto& book = scene.book;
  const bool raised = std::any_of(scene.exceptions.begin(), scene.exceptions.end(), [&](const ExceptionEvent& event) {
    return !matches_any("keyboardinterrupt|bdbquit", book.at(event.line).low);
  });
  const bool ended = std::any_of(scene.exits.begin(), scene.exits.end(),
                                 [](const ProcessExit& exit) { return exit.signal != 2 && exit.code != 130; });
  if (raised || ended || !scene.ooms.empty()) return true;
  int alive = scene.steps.empty() ? -1 : scene.steps.back().line;
  for (const int line : book.find("core", "step").lines) alive = std::max(alive, line);
  const auto stalls = stall_signs(scene);
  return !scene.timeouts.empty() || std::any_of(stalls.begin(), stalls.end(), [&](int line) {
    return line > alive && book.at(line).low.find("^c") == std::string::npos;
  });
}

const std::vector<Mark>& echo_marks() {
  static const std::vector<Mark> marks{
      {"met",
       "init complete|connected all rings|connected all trees|all distributed processes registered|distributed "
       "environment:*process index|duplicate gpu detected|process group initialized|nccl "
       "communicator initialized|building*device mesh|data parallel group"}};
  return marks;
}

bool met_after(const Scene& scene, int line, Meeting meeting) {
  const auto& book = scene.book;
  int met = -1;
  if (meeting == Meeting::kStore) {
    for (const int sign : book.find("core", "met").lines) met = std::max(met, sign);
  }
  for (const auto& step : scene.steps) met = std::max(met, step.line);
  if (met <= line || book.at(met).log != book.at(line).log) return false;
  // A command in between is another attempt, whose success proves the complaint instead.
  const auto& shell = book.find("core", "shell").lines;
  return std::none_of(shell.begin(), shell.end(), [&](int at) { return at > line && at < met; });
}

bool failed_before(const Scene& scene, int line) {
  const auto& book = scene.book;
  const bool raised = std::any_of(scene.exceptions.begin(), scene.exceptions.end(), [&](const ExceptionEvent& event) {
    const auto& low = book.at(event.line).low;
    return book.earlier(event.line, line) && !is_echo(low) &&
           !matches_any("stopiteration|mismatch between collectives|collectives differ|monitored", low);
  });
  const bool full = std::any_of(scene.ooms.begin(), scene.ooms.end(), [&](const GpuOom& oom) {
    return !oom.warning && oom.request < 1e15 && book.earlier(oom.line, line);
  });
  const auto& killed = judge_host_memory(scene).proof;
  const bool host_full =
      std::any_of(killed.begin(), killed.end(), [&](int proof) { return book.earlier(proof, line); });
  return raised || full || host_full;
}

}  // namespace fx::knowledge
