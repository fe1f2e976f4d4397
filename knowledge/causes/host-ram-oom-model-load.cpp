#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/host_memory.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const HostMemory host = judge_host_memory(s);
  if (host.proof.empty() && host.killed.empty()) return {};
  if (host.running) return {};
  Claim out;
  if (!host.proof.empty()) {
    out.score = host.loading ? 0.92 : 0.62;
  } else {
    out.score = host.loading ? 0.82 : 0;
  }
  if (m("cancelled") && host.proof.empty()) out.score = 0;
  if (!host.spare.empty() && host.proof.empty()) out.score = std::min(out.score, 0.35);
  for (std::size_t i = 0; i < host.proof.size() && i < 3; ++i) out.show(host.proof[i]);
  for (std::size_t i = 0; i < host.killed.size() && i < 2; ++i) out.show(host.killed[i]);
  for (std::size_t i = 0; i < host.figures.size() && i < 2; ++i) out.show(host.figures[i]);
  return out.show(m("copies"), 1);
}

}  // namespace

CauseRule host_ram_oom_model_load() {
  return {"host-ram-oom-model-load",
          {{"copies",
            "tie_word_embeddings|every rank*from_pretrained|from_pretrained*cpu|low_cpu_mem_usage"
            "|cpu_ram_efficient_loading|sync_module_states|loading checkpoint shards"},
           {"cancelled", "cancelled at|due to time limit|preempt|requeue"}},
          evaluate};
}

}  // namespace fx::knowledge
