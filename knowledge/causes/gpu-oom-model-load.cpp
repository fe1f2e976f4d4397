#include "knowledge/causes/cause.h"
#include "knowledge/causes/gpu_oom.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView&) {
  return claim_gpu_oom(s, OomKind::kModelLoad);
}

}  // namespace

CauseRule gpu_oom_model_load() {
  return {"gpu-oom-model-load", {}, evaluate};
}

}  // namespace fx::knowledge
