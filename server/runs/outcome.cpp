#include "server/runs/outcome.h"

#include <algorithm>

#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"

namespace fx::server {
namespace {

using tools::RunState;

constexpr std::size_t kReasonBytes = 400;
constexpr std::size_t kLogTail = 256 << 10;
constexpr int kLogsRead = 64;

std::string said(const ErrorEvent& error) {
  std::string text = quote_input(mask_secrets(error.what), kReasonBytes);
  if (!error.where.empty()) text += " (in " + quote_input(error.where, 60) + ")";
  if (!error.hint.empty()) text += "; " + quote_input(mask_secrets(error.hint), 200);
  return text;
}

// A rank that was killed speaks for itself; among ranks that gave up, one that was not waiting for others knows more.
const RankEnd& root_of(const std::vector<const RankEnd*>& deaths, const std::vector<ErrorEvent>& errors) {
  for (const auto* death : deaths) {
    if (death->status.signal) return *death;
  }
  for (const auto* death : deaths) {
    for (const auto& error : errors) {
      if (error.rank == death->rank && error.collective.empty()) return *death;
    }
  }
  return *deaths.front();
}

std::string death_reason(const RankEnd& root, const std::vector<ErrorEvent>& errors) {
  const std::string who = "rank " + std::to_string(root.rank);
  if (root.status.signal) return who + " was " + describe(root.status);
  const auto error = std::find_if(errors.rbegin(), errors.rend(), [&](const auto& e) { return e.rank == root.rank; });
  std::string reason = who + " ended with " + describe(root.status);
  return error == errors.rend() ? reason + "; see " + tools::rank_log_name(root.rank) : reason + ": " + said(*error);
}

}  // namespace

Outcome judge(const std::vector<RankEnd>& ends, bool stop_asked, const tools::RunEvents& events,
              const std::vector<ErrorEvent>& errors) {
  std::vector<const RankEnd*> deaths;
  bool forced = false;
  for (const auto& end : ends) {
    forced = forced || end.by_us;
    if (!end.status.ok() && !end.by_us) deaths.push_back(&end);
  }
  if (!deaths.empty()) {
    const std::string reason = death_reason(root_of(deaths, errors), errors);
    return {RunState::kFailed, stop_asked ? reason + " (while it was being stopped)" : reason};
  }
  if (forced && stop_asked) return {RunState::kFailed, "it wrote no checkpoint in time after the stop request"};
  if (forced) return {RunState::kFailed, "some ranks ended and the others did not follow"};
  if (events.finish && events.finish->state == "stopped") {
    return {RunState::kStopped, "stopped on request after step " + std::to_string(events.finish->step)};
  }
  if (events.finish) return {RunState::kSucceeded, ""};
  if (stop_asked) return {RunState::kStopped, "stopped on request before the first step was done"};
  return {RunState::kFailed, "all ranks left with exit code 0, but none reported the end of the run (disk full?)"};
}

std::vector<ErrorEvent> reported_errors(const std::filesystem::path& folder, const tools::RunEvents& events,
                                        int ranks) {
  std::vector<ErrorEvent> errors = events.errors;
  for (int rank = 0; rank < std::min(ranks, kLogsRead); ++rank) {
    const auto log = read_tail(folder / tools::rank_log_name(rank), kLogTail);
    if (!log) continue;
    for (auto& event : read_events(*log).events) {
      if (auto* error = std::get_if<ErrorEvent>(&event.body)) errors.push_back(std::move(*error));
    }
  }
  return errors;
}

}  // namespace fx::server
