#include "knowledge/causes/cause.h"
#include "knowledge/causes/gpu_oom.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView&) {
  Claim out = claim_gpu_oom(s, OomKind::kFragmentation);
  for (const int line : s.book.lines_matching(
           "max_reserved|peak_reserved|memory reserved|reserved:*gib|num_alloc_retries|cache flushes", 4)) {
    if (out.score > 0) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule gpu_oom_fragmentation() {
  return {"gpu-oom-fragmentation", {}, evaluate};
}

}  // namespace fx::knowledge
