#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("mismatch")) return {};
  Claim out = claim(0.96, m("mismatch"), 2);
  out.show(m("detail"), 4).show(m("setting"), 1);
  return out.root(s.one_rank(m("mismatch").lines));
}

}  // namespace

CauseRule checkpoint_recompute_mismatch() {
  return {"checkpoint-recompute-mismatch",
          {{"mismatch",
            "recomputed values for the following tensors have different metadata"
            "|a different number of tensors was saved|number of tensors saved during*recompute"
            "|torch.utils.checkpoint.checkpointerror|checkpointerror: torch.utils.checkpoint"
            "|unpack is being triggered for a tensor that was already unpacked"
            "|trying to backward*recompute"},
           {"detail", "saved metadata|recomputed metadata|number of tensors saved|tensor at position"},
           {"setting", "use_reentrant|gradient_checkpointing|activation checkpointing|compile|cp_size"}},
          evaluate};
}

}  // namespace fx::knowledge
