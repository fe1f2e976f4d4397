#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/host_memory.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const HostMemory host = judge_host_memory(s);
  if (host.proof.empty() && host.killed.empty()) return {};
  Claim out;
  if (!host.proof.empty()) {
    out.score = host.running ? 0.92 : host.loading ? 0.4 : 0.6;
  } else {
    out.score = host.running ? 0.7 : host.loading ? 0.3 : 0.4;
    if (!host.figures.empty()) out.score += 0.1;
    if (m("cancelled")) out.score = 0;
    if (!host.spare.empty()) out.score = std::min(out.score, 0.3);
  }
  for (std::size_t i = 0; i < host.proof.size() && i < 4; ++i) out.show(host.proof[i]);
  for (std::size_t i = 0; i < host.figures.size() && i < 2; ++i) out.show(host.figures[i]);
  for (std::size_t i = 0; i < host.killed.size() && i < 3; ++i) out.show(host.killed[i]);
  return out;
}

}  // namespace

CauseRule host_ram_oom_runtime() {
  return {"host-ram-oom-runtime", {{"cancelled", "cancelled at|due to time limit|preempt|requeue"}}, evaluate};
}

}  // namespace fx::knowledge
