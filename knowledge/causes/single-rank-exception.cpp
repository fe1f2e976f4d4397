#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"

namespace fx::knowledge {
namespace {

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
    if (!m("crash")) return out;
    out = claim(0.5, m("crash"), 2);
    out.root(s.one_rank(m("crash").lines));
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
