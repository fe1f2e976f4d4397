#include "knowledge/causes/cause.h"
#include "knowledge/causes/gpu_oom.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView&) {
  Claim out = claim_gpu_oom(s, OomKind::kActivations);
  for (const int line :
       s.book.lines_matching("longest_seq|seq_len|sequence length|max_length|batch size|micro_batch", 2)) {
    if (out.score > 0 && out.lines.size() < 5) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule gpu_oom_activations() {
  return {"gpu-oom-activations", {}, evaluate};
}

}  // namespace fx::knowledge
