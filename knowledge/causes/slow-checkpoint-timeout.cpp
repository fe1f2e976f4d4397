#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const Stall stall = find_stall(s);
  Claim out;
  if (!stall.any || stall.saves.empty() || !s.ooms.empty()) return out;
  std::vector<int> slow;
  for (const int line : m("slow").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any("watchdog|processgroup|sending process|it/s|child", low) || line < stall.saves.front()) continue;
    slow.push_back(line);
  }
  out.score = stall.saved_last ? (slow.empty() ? 0.72 : 0.88) : 0.4;
  // Numbered files that one rank still wrote while the others already waited.
  const auto parts = s.book.ranks_of(s.book.lines_matching("writing*model-0*of-|writing shard*of|wrote*model-0*of-"));
  if (stall.saved_last && parts.size() == 1 && s.desync.timed_out.count(*parts.begin()) == 0) {
    out.score = 0.94;
  } else if (!stall.guards.empty()) {
    out.score -= 0.2;
  }
  if (!stall.movers.empty() && out.score < 0.9) out.score -= 0.2;
  if (m("async")) out.score = std::min(out.score, 0.5);
  const bool write_failed = std::any_of(s.exceptions.begin(), s.exceptions.end(), [&](const ExceptionEvent& exception) {
    return exception.line < stall.first &&
           matches_any("oserror|filenotfound|permission|runtimeerror: [enforce", s.book.at(exception.line).low);
  });
  // Other collectives than the others' is no waiting.
  if (write_failed || m("mismatch")) out.score = 0.4;
  // The last announcements stand nearest to the stall.
  for (std::size_t i = 0; i < stall.saves.size() && i < 2; ++i) out.show(stall.saves[stall.saves.size() - 1 - i]);
  out.show(stall.saves.front());
  for (const int line : slow) {
    if (out.lines.size() < 6) out.show(line);
  }
  for (std::size_t i = 0; i < stall.signs.size() && i < 1; ++i) out.show(stall.signs[i]);
  if (const int suspect = s.desync.suspect(); suspect >= 0 && (!s.desync.behind.empty() || s.desync.absent.size() == 1))
    return out.root(suspect);
  if (stall.savers.size() == 1 && s.world < 1000) return out.root(*stall.savers.begin());
  const auto writers = s.book.ranks_of(slow);
  if (writers.size() == 1 && s.world < 1000) return out.root(*writers.begin());
  // Who saves without naming itself is the main rank, which then is not among those that wait.
  const bool main_waits = s.desync.timed_out.empty() || s.desync.timed_out.count(0) > 0;
  return out.root(writers.empty() && !main_waits ? std::optional<int>(0) : std::nullopt);
}

}  // namespace

CauseRule slow_checkpoint_timeout() {
  return {
      "slow-checkpoint-timeout",
      {{"slow",
        "read partial|of * partials|assembl|took*sec|shard*of|plans|waiting for*plans|d state|writing|write bandwidth|mb/s"
        "|mount|saved to|of size|model-000|serialization.py|in save|getting*state dict|zipfile"
        "|still writing|bytes written|upload|elapsed|flush"},
       {"mismatch", "mismatch between collectives|collectives differ in the following"},
       {"async", "async_save|async save|asynccheckpoint|ckpt-thread|checkpoint thread|async_checkpoint"}},
      evaluate};
}

}  // namespace fx::knowledge
