#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  std::vector<int> reasons;
  for (const int line : m("reason").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any(
            "$ |#sbatch|--time|ddp_timeout|timelimit=|auto-requeue|bypassing|no preemption|preemptible=|--requeue",
            low))
      continue;
    // A program's own wrong state is no word of a scheduler.
    if (s.exception_at(line) != nullptr &&
        matches_any("assertionerror|valueerror|keyerror|indexerror|typeerror|attributeerror", low))
      continue;
    // What may come has not come, and what a former start went through is over.
    if (matches_any(
            "may be preempt|can be preempt|could be preempt|might be preempt|requeue count|requeues|restart count",
            low))
      continue;
    // Who gets ready for a signal has not got one.
    if (matches_any("handler|trap |will checkpoint on|will save on|signal=|registered|listening for|on preemption",
                    low) &&
        !matches_any("received|got |caught|called|invoked", low))
      continue;
    // A limit that is only stated has not been reached.
    if (matches_any("time limit|timelimit|walltime", low) &&
        !matches_any("due to|exceed|reach|hit|expire|cancel|kill|over|terminat|ran out|***", low))
      continue;
    reasons.push_back(line);
  }
  if (reasons.empty() && !m("cancelled")) return out;
  const int first = reasons.empty() ? m("cancelled").first() : reasons.front();
  out.score = reasons.empty() ? 0.62 : 0.94;
  // Slurm also cancels the rest of a step whose task failed by itself.
  const bool failed_before =
      std::any_of(s.exceptions.begin(), s.exceptions.end(), [&](const ExceptionEvent& exception) {
        return exception.line < first && s.book.at(exception.line).log == s.book.at(first).log &&
               !is_echo(s.book.at(exception.line).low);
      });
  const bool hung_before = !s.timeouts.empty() && s.timeouts.front().line < first;
  if (failed_before || m("own_error") || (hung_before && reasons.empty())) out.score = reasons.empty() ? 0.3 : 0.6;
  if (m("memory")) out.score = 0.35;
  // Another job's error after the cancel: this log is about that one.
  const bool read_later = s.book.mentions("safetensorerror|pytorchstreamreader|unpicklingerror|filenotfounderror");
  if (read_later) out.score = std::min(out.score, 0.5);
  for (const int line : reasons) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.show(m("cancelled"), 2);
}

}  // namespace

CauseRule scheduler_termination() {
  return {
      "scheduler-termination",
      {{"reason",
        "due to time limit|drained|draining|scale-down|scaled down|stopping container|due to preemption|due to job requeue|due to node fail|job is preempted"
        "|is preempted|preempted|preemption|time limit|timelimit|walltime|scancel|cancelled by"
        "|term_runlimit|term_owner|event preempt|event*preempt |preempting|spot*interrupt|spot*reclaim|evicted|eviction|maintenance event"
        "|deadlineexceeded|activedeadlineseconds|node drain|requeue|sigusr1|sigusr2"
        "|job killed*limit|killed by*scheduler|pbs: job killed|terminating node"},
       {"cancelled", "cancelled at|***cancelled|slurmstepd: error: ***"},
       {"memory", "oom_kill|oom-kill|out of memory|oom killed|due to memory"},
       {"own_error", "due to task failure|task failure"},
       {"later", "--- |resum|evaluation job|new job"}},
      evaluate};
}

}  // namespace fx::knowledge
