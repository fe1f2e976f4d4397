#include "knowledge/causes/cause.h"
#include "knowledge/causes/gpu_oom.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView&) {
  Claim out = claim_gpu_oom(s, OomKind::kSave);
  if (out.score > 0) out.show(out.lines.empty() ? -1 : s.phase_line(out.lines.front()));
  for (const int line : s.book.lines_matching("saving*checkpoint|saving model|failed to clone|state_dict()", 3)) {
    if (out.score > 0) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule gpu_oom_checkpoint_save() {
  return {"gpu-oom-checkpoint-save", {}, evaluate};
}

}  // namespace fx::knowledge
