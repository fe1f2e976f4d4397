#include "engine/train/finite.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

#include <cmath>

namespace fx::engine {

std::string first_not_finite(Groups& groups) {
  for (auto& group : groups) {
    if (!group->grad().defined()) continue;
    const auto& params = group->grad_layout().params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const at::Tensor rows = group->rows_view(group->grad(), group->grad_layout(), i);
      if (!at::isfinite(rows).all().item<bool>()) return params[i].def.name;
    }
  }
  return {};
}

Error not_finite_error(long long step, double loss, Groups& groups, Collectives& comm) {
  const std::string name = first_not_finite(groups);
  at::Tensor rank = at::tensor({name.empty() ? -1.0 : static_cast<double>(comm.rank())}, at::kDouble);
  comm.all_reduce_max("not finite", rank);
  const int seen_by = static_cast<int>(rank.item<double>());
  std::string what =
      "step " + std::to_string(step) + ": the " + (std::isfinite(loss) ? "gradient norm" : "loss") + " is not finite";
  if (!name.empty()) {
    what += ", nor the gradient of " + name;
  } else if (seen_by >= 0) {
    what += ", nor gradients on rank " + std::to_string(seen_by);
  }
  return internal_error(what + "; lower optimizer.lr, or look for bad data in this step's packs");
}

}  // namespace fx::engine
