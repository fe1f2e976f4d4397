#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("nograd") && !m("warning")) return {};
  Claim out;
  if (m("nograd")) {
    out = claim(m("warning") || m("setting") ? 0.95 : 0.8, m("nograd"), 2);
  } else {
    // Gradients that are None show as a zero norm; alone the warning is only a hint.
    const bool zero = s.book.mentions("grad_norm': 0.0|grad_norm: 0.0|grad_norm=0.0|grad norm: 0.0|grad_norm 0.0");
    const bool learns = std::any_of(s.steps.begin(), s.steps.end(),
                                    [](const StepEvent& step) { return step.loss_finite && step.loss > 0; });
    out = claim(zero ? 0.85 : learns ? 0 : 0.29, m("warning"), 2);
  }
  return out.show(m("warning"), 1).show(m("setting"), 2);
}

}  // namespace

CauseRule no_grad_through_checkpoint() {
  return {"no-grad-through-checkpoint",
          {{"nograd",
            "does not require grad and does not have a grad_fn"
            "|does not require grad and does not have grad_fn|no grad_fn|has no grad_fn"},
           {"warning", "none of the inputs have requires_grad=true|none of the inputs have requires_grad"},
           {"setting",
            "gradient_checkpointing|use_reentrant|enable_input_require_grads|trainable params"
            "|activation checkpointing|freeze"}},
          evaluate};
}

}  // namespace fx::knowledge
