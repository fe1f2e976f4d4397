#include "engine/train/optimizer.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fx::engine {

double learning_rate(const OptimizerSpec& spec, long long step, long long steps) {
  if (step < spec.warmup_steps) return spec.lr * static_cast<double>(step + 1) / static_cast<double>(spec.warmup_steps);
  if (spec.schedule == "constant") return spec.lr;
  const double whole = static_cast<double>(std::max<long long>(1, steps - spec.warmup_steps));
  const double done = std::min(1.0, static_cast<double>(step - spec.warmup_steps) / whole);
  if (spec.schedule == "linear") return spec.lr * (1 - done);
  return spec.lr * 0.5 * (1 + std::cos(3.14159265358979323846 * done));
}

AdamW::AdamW(const OptimizerSpec& spec, std::vector<std::unique_ptr<ParamGroup>>& groups)
    : spec_(spec), groups_(groups) {
  for (const auto& group : groups) {
    const std::int64_t numel = group->grad_layout().shard_numel;
    states_.emplace_back();
    if (numel == 0) continue;
    const at::TensorOptions options = group->master().options();
    states_.back() = {at::zeros({numel}, options), at::zeros({numel}, options)};
  }
}

void AdamW::step(double lr) {
  ++steps_done_;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    ParamGroup& group = *groups_[g];
    if (!group.grad().defined()) continue;
    const auto& params = group.grad_layout().params;
    const auto& index = group.trainable();
    // Runs of neighbours with the same weight decay are updated in one call; 1-D parameters are not decayed.
    for (std::size_t first = 0; first < params.size();) {
      const bool decay = params[first].def.shape.size() > 1;
      std::size_t last = first;
      std::int64_t count = 0;
      while (last < params.size() && (params[last].def.shape.size() > 1) == decay &&
             index[last] - index[first] == last - first) {
        count += params[last++].padded;
      }
      const std::int64_t begin = params[first].shard_offset;
      const std::int64_t master = group.layout().params[index[first]].shard_offset;
      std::vector<at::Tensor> weight = {group.master().narrow(0, master, count)},
                              grad = {group.grad().narrow(0, begin, count)},
                              m = {states_[g].exp_avg.narrow(0, begin, count)},
                              v = {states_[g].exp_avg_sq.narrow(0, begin, count)}, none,
                              steps = {at::full({}, static_cast<double>(steps_done_), group.master().options())};
      at::_fused_adamw_(weight, grad, m, v, none, steps, lr, spec_.betas[0], spec_.betas[1],
                        decay ? spec_.weight_decay : 0.0, spec_.eps, false, false);
      first = last;
    }
    group.zero_grad();
  }
}

double gradient_norm(std::vector<std::unique_ptr<ParamGroup>>& groups, Mesh& mesh, double p) {
  const bool largest = std::isinf(p);
  double local = 0;
  for (auto& group : groups) {
    const at::Tensor& grad = group->grad();
    if (!grad.defined() || grad.numel() == 0) continue;
    if (p == 2) {
      local += at::dot(grad, grad).item<double>();
    } else if (largest) {
      const double top = grad.abs().max().item<double>();
      local = std::isnan(top) ? top : std::max(local, top);
    } else {
      local += grad.abs().pow(p).sum(at::kDouble).item<double>();
    }
    if (std::isnan(local)) break;
  }
  at::Tensor sum = at::tensor({local}, at::kDouble);
  if (!largest) {
    mesh.shard().all_reduce_sum("grad norm", sum);
    return p == 2 ? std::sqrt(sum.item<double>()) : std::pow(sum.item<double>(), 1 / p);
  }
  // A maximum may lose a NaN on its way; infinity arrives, and is as useless a norm.
  if (std::isnan(local)) sum.fill_(std::numeric_limits<double>::infinity());
  mesh.shard().all_reduce_max("grad norm", sum);
  return sum.item<double>();
}

double clip_gradients(std::vector<std::unique_ptr<ParamGroup>>& groups, double max_norm, Mesh& mesh, double p) {
  const double norm = gradient_norm(groups, mesh, p);
  if (max_norm > 0 && std::isfinite(norm) && norm > max_norm) {
    for (auto& group : groups) {
      if (group->grad().defined()) group->grad().mul_(max_norm / (norm + 1e-6));
    }
  }
  return norm;
}

}  // namespace fx::engine
