#include "knowledge/causes/cause.h"
#include "knowledge/causes/gpu_oom.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView&) {
  return claim_gpu_oom(s, OomKind::kOptimizer);
}

}  // namespace

CauseRule gpu_oom_optimizer_step() {
  return {"gpu-oom-optimizer-step", {}, evaluate};
}

}  // namespace fx::knowledge
