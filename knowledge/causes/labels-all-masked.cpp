#include <algorithm>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("mask")) return {};
  std::vector<int> bad;
  for (const auto& step : s.steps) {
    if (!step.loss_finite || step.loss == 0) bad.push_back(step.line);
  }
  Claim out = claim(bad.empty() ? 0.72 : 0.92, m("mask"), 4);
  // Single samples that are left out on purpose do not stop a run that learns.
  if (bad.empty() && s.steps.size() >= 2 && s.steps.front().loss_finite && m("mask").count < 3) out.score = 0.3;
  for (std::size_t i = 0; i < bad.size() && i < 2; ++i) out.show(bad[i]);
  return out;
}

}  // namespace

CauseRule labels_all_masked() {
  return {"labels-all-masked",
          {{"mask",
            "could not find response key|could not find instruction key|response template*not found"
            "|could not find*template|this instance will be ignored in loss|all labels*-100"
            "|labels*all -100|labels are -100|labels*masked|valid tokens: 0|valid tokens=0"
            "|valid_tokens=0|num_valid*=0|supervised tokens: 0|supervised tokens=0"
            "|supervised tokens 0|trainable tokens: 0|trainable tokens=0|no label|no valid label"
            "|loss_mask*sum*0|loss mask*0|num_items_in_batch=0|num_items_in_batch: 0|0 unmasked"
            "|no unmasked|empty labels|no supervised|unmasked tokens: 0|target tokens: 0"
            "|label tokens: 0|labels: 0/|non-masked*: 0|labels != -100*0|0 labels|zero valid"
            "|completion*truncated|no target tokens|all tokens*masked"},
           {"explosion", "overflow|fp16: true"}},
          evaluate};
}

}  // namespace fx::knowledge
