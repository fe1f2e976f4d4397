#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("timeout") && !m("exception")) {
    // Recorder dumps in which every rank waits in the same collective.
    Claim out;
    for (const auto& row : s.running) {
      if (row.state == "completed" || row.state.empty()) continue;
      out.score = s.desync.any() ? 0.32 : 0.5;
      if (out.lines.size() < 4) out.show(row.line);
    }
    // Somebody says that it hangs, and nothing else.
    if (const auto signs = stall_signs(s); out.score == 0 && !signs.empty()) {
      out.score = s.exceptions.empty() && s.ooms.empty() ? 0.36 : 0.31;
      for (std::size_t i = 0; i < signs.size() && i < 2; ++i) out.show(signs[i]);
      if (s.stepped_before(out.lines.front()) && met_after(s, out.lines.front(), Meeting::kTraining)) out.score = 0;
    }
    return out;
  }
  Claim out = claim(m("timeout") ? 0.5 : 0.32, m("timeout") ? m("timeout") : m("exception"), 2);
  if (s.desync.any()) {
    out.score = 0.4;
    for (const int line : s.desync.lines) out.show(line);
  }
  for (const auto& oom : s.ooms) {
    if (oom.request > 1e15) out.show(oom.line), out.score = 0.8;
  }
  return out;
}

}  // namespace

CauseRule nccl_timeout_undetermined() {
  return {
      "nccl-timeout-undetermined",
      {{"timeout",
        "watchdog caught collective operation timeout|timed out waiting*ms for"
        "|some nccl operations have failed or timed out|collective*timed out|alltoall*timeout"
        "|unbound_buffer.cc*timed out|wait timeout after|rank*failed to pass monitoredbarrier"
        "|heartbeat monitor timed out|operation timed out|collective timeout|timeout at nccl work|detected by watchdog at work|nccl timeout|getting socket times out|notify wait timeout|hccl*timeout|nccl*timeout after"},
       {"exception", "remote process exited|ncclremoteerror|processgroupnccl's watchdog got stuck"}},
      evaluate};
}

}  // namespace fx::knowledge
