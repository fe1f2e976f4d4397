// AdamW on fp32 shards (Loshchilov and Hutter 2019), learning-rate schedules and clipping by the global norm.
#pragma once

#include <memory>
#include <vector>

#include "engine/shard/param_group.h"
#include "spec/run_spec.h"

namespace fx::engine {

// Learning rate of a step (from 0): linear warm-up (step + 1) / warmup_steps, then the schedule down to 0 at the end.
double learning_rate(const OptimizerSpec& spec, long long step, long long steps);

// Optimizer state of one group: none for frozen parameters, undefined in a group of nothing else.
struct AdamState {
  at::Tensor exp_avg, exp_avg_sq;  // fp32 [grad_layout().shard_numel]
};

class AdamW {
 public:
  AdamW(const OptimizerSpec& spec, std::vector<std::unique_ptr<ParamGroup>>& groups);
  // One step with the groups' grad() (missing: skipped); clears the gradients.
  void step(double lr);
  std::vector<AdamState>& states() { return states_; }
  long long steps_done() const { return steps_done_; }
  void set_steps_done(long long steps) { steps_done_ = steps; }

 private:
  OptimizerSpec spec_;
  std::vector<std::unique_ptr<ParamGroup>>& groups_;
  std::vector<AdamState> states_;
  long long steps_done_ = 0;
};

// p-norm (1, 2, infinity or any p > 0) of all gradients of the whole model, the same on every rank: one all-reduce over
// the ranks of one copy. NaN or infinity comes back as such.
double gradient_norm(std::vector<std::unique_ptr<ParamGroup>>& groups, Mesh& mesh, double p);

// Scales the shards so that this norm is at most max_norm (0: no clipping) and returns the norm before. Nothing is
// scaled when it is not finite.
double clip_gradients(std::vector<std::unique_ptr<ParamGroup>>& groups, double max_norm, Mesh& mesh, double p = 2);

}  // namespace fx::engine
