#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/host_memory.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const HostMemory host = judge_host_memory(s);
  if (!host.proof.empty()) return {};
  std::vector<const ProcessExit*> killed;
  for (const auto& exit : s.exits) {
    if (exit.signal == 9) killed.push_back(&exit);
  }
  if (killed.empty() || m("cancelled")) return {};
  // Our supervisor watches memory itself: its word that a rank was killed stands.
  Claim out;
  out.score = m("supervisor") ? 0.92 : host.loading && !host.running ? 0.35 : 0.45;
  if (!host.spare.empty()) {
    out.score = std::max(out.score, 0.75);
  } else if (!host.figures.empty() && !m("supervisor")) {
    out.score -= 0.2;
  }
  const auto& first = *killed.front();
  for (const auto* exit : killed) out.show(exit->line);
  const int rank = first.rank >= 0 ? first.rank : first.local_rank;
  if (rank >= 0) out.root(rank);
  for (const int line : host.spare) out.show(line);
  return out.show(m("victims"), 5);
}

}  // namespace

CauseRule rank_killed() {
  return {"rank-killed",
          {{"supervisor", "supervisor: rank*killed by signal|supervisor: rank*(sigkill)"},
           {"victims",
            "connection closed by peer|connection reset by peer|remote process exited|broken pipe"
            "|peer*vanished|\"event\":\"error\"|\"event\": \"error\"|socket*closed"},
           {"cancelled", "cancelled at|due to time limit|preempt|requeue|sighup|closing signal sigint"}},
          evaluate};
}

}  // namespace fx::knowledge
