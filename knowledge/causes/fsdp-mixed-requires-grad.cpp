#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out = claim_of_refusals(s, m("grad").lines, 0.95);
  if (out.score == 0) return out;
  for (const int line : m("hint").telling) {
    if (out.lines.size() < 5) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule fsdp_mixed_requires_grad() {
  return {
      "fsdp-mixed-requires-grad",
      {{"grad",
        "uniform `requires_grad`|uniform requires_grad|uniform `requires_grad"
        "|requires_grad*use_orig_params|both frozen and trainable|frozen and non-frozen"
        "|mixed requires_grad|requires_grad*to have the same|same requires_grad|mix of frozen|frozen*non-frozen parameters"},
       {"hint", "trainable params|freeze|frozen|use_orig_params|lora"}},
      evaluate};
}

}  // namespace fx::knowledge
