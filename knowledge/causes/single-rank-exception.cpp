#include <string>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"

namespace fx::knowledge {
namespace {

// Only the end of a process is told, by its launcher or by those who lost it: which one it was is all that can be said.
Claim from_its_end(const Scene& s) {
  const ProcessExit* ended = nullptr;
  for (const auto& exit : s.exits) {
    const bool own = exit.code != 0 || exit.signal == 6 || exit.signal == 7 || exit.signal == 11;
    if (own && (ended == nullptr || (exit.claimed_root && !ended->claimed_root))) ended = &exit;
  }
  Claim out;
  if (ended != nullptr) {
    out.score = ended->code != 0 || ended->signal == 11 ? 0.42 : 0.36;
    const int rank = ended->rank >= 0 ? ended->rank : ended->local_rank;
    const std::string who = rank >= 0 ? "Rank " + std::to_string(rank) : "A process";
    const std::string how =
        ended->code != 0 ? "exit code " + std::to_string(ended->code) : "signal " + std::to_string(ended->signal);
    if (rank >= 0) out.root(rank);
    return out.show(ended->line).say(who + " ended with " + how + "; what it said before is not in this log.");
  }
  for (const auto& exception : s.exceptions) {
    const bool lost = matches_any(
        "childfailederror|distbackenderror|diststoreerror|actordiederror|raytaskerror|rayactorerror|calledprocesserror|"
        "processexitedexception",
        s.book.at(exception.line).low);
    const bool went_on = !s.steps.empty() && s.steps.back().line > exception.line;
    if (!lost || went_on) continue;
    out.score = 0.36;
    return out.show(exception.line).say("A process died; what it said before is not in this log.");
  }
  return out;
}

// Crashes of a process's own: torch's watchdog aborts the process whose collective has timed out.
Hits own_crashes(const Scene& s, Hits crashes) {
  const auto by_watchdog = [&](int line) {
    return !s.timeouts.empty() && s.book.earlier(s.first_timeout(), line) &&
           matches_any("abort", s.book.at(line).low) &&
           !matches_any("segmentation|sigsegv|assertion", s.book.at(line).low);
  };
  std::erase_if(crashes.lines, by_watchdog);
  std::erase_if(crashes.telling, by_watchdog);
  crashes.count = static_cast<long>(crashes.lines.size());
  return crashes;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  // The first exception that is no echo of a vanished peer, no launcher summary and no mere wrapper.
  const ExceptionEvent* found = nullptr;
  for (const auto& exception : s.exceptions) {
    const auto& line = s.book.at(exception.line);
    // torch.multiprocessing's join raises a bare Exception in front of the process's own traceback.
    const bool wrapper = exception.type == "Exception" && exception.message.size() <= 2;
    if (is_echo(line.low) || wrapper) continue;
    if (found == nullptr || s.book.earlier(exception.line, found->line)) found = &exception;
  }
  Claim out;
  if (found == nullptr) {
    const Hits crashes = own_crashes(s, m("crash"));
    if (!crashes) return from_its_end(s);
    out = claim(0.5, crashes, 2);
    out.root(s.one_rank(crashes.lines));
    return out;
  }
  std::vector<int> alike{found->line};
  for (const auto& exception : s.exceptions) {
    if (exception.line != found->line && exception.type == found->type) alike.push_back(exception.line);
  }
  const auto ranks = s.book.ranks_of(alike);
  out.score = ranks.size() == 1 ? 0.62 : ranks.empty() ? 0.5 : 0.45;
  out.show(found->line);
  for (const auto& exception : s.exceptions) {
    if (exception.rank == found->rank && out.lines.size() < 4 && !is_echo(s.book.at(exception.line).low))
      out.show(exception.line);
  }
  out.show(found->frames.empty() ? -1 : found->frames.back());
  return out.root(s.one_rank(alike));
}

}  // namespace

CauseRule single_rank_exception() {
  return {"single-rank-exception",
          {{"original", "caught*in dataloader worker|original traceback"},
           {"crash",
            "segmentation fault|(sigsegv)|core dumped|fatal python error|assertion failed"
            "|floating point exception"}},
          evaluate};
}

}  // namespace fx::knowledge
