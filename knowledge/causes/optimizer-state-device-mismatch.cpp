#include <algorithm>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  if (m("same_index")) {
    out = claim(0.94, m("same_index"), 2);
  } else if (m("two")) {
    const bool in_optimizer =
        std::any_of(s.exceptions.begin(), s.exceptions.end(), [&](const ExceptionEvent& exception) {
          return matches_any("same device|two devices|different devices", exception.message) &&
                 s.phase_at(exception.line) == Phase::kOptimizer;
        });
    const bool states_moved =
        s.book.mentions("exp_avg*cpu|exp_avg*cuda|optimizer state*cpu|optimizer*on cpu|optimizer*offload");
    if (!in_optimizer && !states_moved) return out;
    out = claim(in_optimizer ? 0.92 : 0.84, m("two"), 2);
  } else {
    return out;
  }
  for (const int line : m("state").telling) {
    if (out.lines.size() < 5) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule optimizer_state_device_mismatch() {
  return {
      "optimizer-state-device-mismatch",
      {{"same_index",
        "attempting to assign a gradient with device type|tensors of the same index must be on the same device"
        "|same device and the same dtype except|state_steps should not be cuda|the model and the optimizer parameters are not on the same device"},
       {"two",
        "expected all tensors to be on the same device|found at least two devices"
        "|found two devices|should be on the same device|on different devices"},
       {"state",
        "exp_avg|optimizer state|optim_state|state_steps|optimizer.step|/optim/|_multi_tensor"
        "|load_optimizer|optimizer_offload|restoring|offload|foreach"}},
      evaluate};
}

}  // namespace fx::knowledge
