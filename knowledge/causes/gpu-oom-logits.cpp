#include "knowledge/causes/cause.h"
#include "knowledge/causes/gpu_oom.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView&) {
  Claim out = claim_gpu_oom(s, OomKind::kLogits);
  for (const int line : s.book.lines_matching("vocab_size|vocab size|seq_length", 2)) {
    if (out.score > 0) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule gpu_oom_logits() {
  return {"gpu-oom-logits", {}, evaluate};
}

}  // namespace fx::knowledge
