#include "server/runs/end_policy.h"

namespace fx::server {

EndAction next_action(const RanksSeen& seen, std::int64_t now, const EndTimes& times) {
  if (seen.running == 0) return EndAction::kDone;
  if (seen.kill_sent) return EndAction::kWait;
  if (seen.first_death) {
    const std::int64_t term_at = *seen.first_death + times.report_ms;
    if (now >= term_at + times.term_ms) return EndAction::kKill;
    // A stop request has sent it before: ranks that wait for a dead one cannot follow it anyway.
    return now >= term_at && !seen.term_sent ? EndAction::kTerminate : EndAction::kWait;
  }
  if (seen.stop_asked) {
    if (!seen.term_sent) return EndAction::kTerminate;
    if (now >= *seen.stop_asked + times.stop_ms) return EndAction::kKill;
  }
  if (seen.first_leaving && now >= *seen.first_leaving + times.leave_ms) return EndAction::kKill;
  return EndAction::kWait;
}

}  // namespace fx::server
