#include <algorithm>
#include "knowledge/causes/cause.h"

#include "knowledge/causes/gpu_oom.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out = claim_gpu_oom(s, OomKind::kSharedDevice);
  const auto& startup = m("startup");
  if (startup) {
    bool elsewhere = matches_any("free memory on device|other processes", s.book.at(startup.first()).low);
    const bool failed = matches_any("error|exception|not enough|less than", s.book.at(startup.first()).low);
    if (failed && (m("holder") || elsewhere) && m("trainer") && out.score < 0.85) {
      out.score = m("holder") ? 0.88 : 0.6;
      out.lines.insert(out.lines.begin(), startup.first());
    }
  }
  // The rollout engine of a hybrid worker finds no room beside the actor.
  const bool by_engine = std::any_of(s.ooms.begin(), s.ooms.end(), [&](const GpuOom& oom) {
    return matches_any("cumem|/vllm/|sglang|kv cache|engine", s.book.at(oom.line).low);
  });
  if (by_engine && m("hybrid") && out.score < 0.9) {
    out.score = 0.9;
    out.show(s.ooms.front().line);
    out.show(m("hybrid"), 2);
  }
  // A process that has no business there is named, and the allocator's own numbers do not say otherwise.
  const bool own_numbers = std::any_of(s.ooms.begin(), s.ooms.end(), [](const GpuOom& oom) {
    return oom.allocated > 0.6 * oom.capacity && oom.capacity > 0;
  });
  if (m("squatter") && !s.ooms.empty() && !own_numbers && out.score < 0.92) {
    out.score = 0.92;
    out.show(m("squatter"), 2);
    out.show(s.ooms.front().line);
  }
  if (out.score > 0) out.show(m("holder"), 3);
  return out;
}

}  // namespace

CauseRule gpu_oom_shared_device() {
  return {"gpu-oom-shared-device",
          {{"startup",
            "free memory on device*less than desired|not enough memory*mem_fraction"
            "|no available memory for the cache blocks|mem-fraction-static"
            "|gpu memory utilization*free|error in memory profiling|memory*other processes"
            "|initial free memory|not enough gpu memory|no available memory"},
           {"holder",
            "nvidia-smi*pid|memory reserved|gpu * pid|process * has *memory in use|mib (|zombie"
            "|leftover|colocat|sleep|hybrid engine|wake_up"},
           {"hybrid", "hybrid engine|wake_up|wake up|colocat|sleep mode|resume_memory|hybrid_engine|before wake"},
           {"squatter",
            "zombie|leftover|left over|previous run|last run|other user|still holds|stale process|orphan|used*by pid|"
            "started yesterday|another job"},
           {"trainer", "workerdict|fsdpworker|trainrayactor|actor|trainer|fsdp"}},
          evaluate};
}

}  // namespace fx::knowledge
