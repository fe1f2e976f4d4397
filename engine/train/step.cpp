#include "engine/train/step.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

namespace fx::engine {

namespace {

std::size_t first_trainable_stage(const Model& model) {
  const auto& stages = model.stages();
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    if (!stages[stage].adapters.list.empty()) return stage;
    const auto& params = model.groups()[stages[stage].group].params;
    for (const std::size_t index : stages[stage].params) {
      if (params[index].trainable) return stage;
    }
  }
  return stages.size();
}

}  // namespace

ShardedModel::ShardedModel(const Model& model, const StepPolicy& policy, Collectives& comm)
    : model_(model),
      policy_(policy),
      mesh_(comm, policy.replicate, policy.keep_slice_ranks),
      first_trainable_(first_trainable_stage(model)) {
  for (const auto& group : model.groups()) {
    groups_.push_back(
        std::make_unique<ParamGroup>(group.name, group.params, policy.precision, mesh_, policy.cpu_offload));
  }
}

StageParams ShardedModel::params_of(std::size_t stage, const at::Tensor& draws) {
  const StageDef& def = model_.stages()[stage];
  StageParams params;
  for (const std::size_t index : def.params) params.full.push_back(group_of(stage).params()[index]);
  if (def.adapters.list.empty()) return params;
  const auto& adapters = groups_[def.adapters.group]->params();
  params.adapters.resize(params.full.size());
  params.adapter_scale = def.adapters.scale;
  for (const auto& adapter : def.adapters.list) {
    const Dropout dropout{draws.defined() ? def.adapters.dropout : 0, draws, adapter.stream};
    params.adapters[adapter.param] = {adapters[adapter.a], adapters[adapter.b], dropout};
  }
  return params;
}

std::vector<std::size_t> ShardedModel::groups_of(std::size_t stage) const {
  const StageDef& def = model_.stages()[stage];
  if (def.adapters.list.empty()) return {def.group};
  return {def.group, def.adapters.group};
}

void ShardedModel::start_unshard(std::size_t stage) {
  for (const std::size_t group : groups_of(stage)) groups_[group]->start_unshard();
}

void ShardedModel::wait_unshard(std::size_t stage) {
  for (const std::size_t group : groups_of(stage)) groups_[group]->wait_unshard();
}

// The embedding's and the head's groups are used at both ends of a micro-batch or right at the turn: freeing them would
// only mean gathering them again.
bool ShardedModel::stays_full(std::size_t stage) const {
  const std::size_t last = model_.stages().size() - 1;
  const std::size_t group = model_.stages()[stage].group;
  return !policy_.reshard_after_forward || stage == last || group == model_.stages()[last].group;
}

bool ShardedModel::recomputes(std::size_t stage) const {
  return policy_.recompute_every > 0 && stage > 0 && stage % static_cast<std::size_t>(policy_.recompute_every) == 0;
}

// Of the stages that the backward reaches.
bool ShardedModel::is_first_use(std::size_t stage, std::size_t group) const {
  for (std::size_t i = first_trainable_; i < stage; ++i) {
    const auto used = groups_of(i);
    if (std::find(used.begin(), used.end(), group) != used.end()) return false;
  }
  return true;
}

// The gathers behind this stage's. What is full or on its way already stays so.
void ShardedModel::prefetch_forward(std::size_t stage) {
  const std::size_t last = std::min(stage + policy_.forward_prefetch, model_.stages().size() - 1);
  for (std::size_t next = stage + 1; next <= last; ++next) start_unshard(next);
}

// The embedding's gradient does not need its weights.
void ShardedModel::prefetch_backward(std::size_t stage) {
  const std::size_t first = std::max<std::size_t>(first_trainable_, 1);
  for (std::size_t n = 0; n < policy_.backward_prefetch && stage > first; ++n) start_unshard(--stage);
}

// Adapters are gathered once, before the first stage that has some, and stay until its backward: they are small, and
// one call moves them all. Wait for this stage's parameters, start gathering the next one's, compute, free. Returns the
// head's input.
at::Tensor ShardedModel::forward(const Batch& batch, std::vector<StageRun>* runs) {
  const std::size_t last = model_.stages().size() - 1;
  at::Tensor x;
  for (std::size_t stage = 0; stage < last; ++stage) {
    mesh_.world().recorder().enter("forward, " + model_.stages()[stage].name);
    wait_unshard(stage);
    prefetch_forward(stage);
    const bool keep_graph = runs != nullptr && stage >= first_trainable_ && !recomputes(stage);
    const at::AutoGradMode mode(keep_graph);
    at::Tensor input = stage == 0 ? at::Tensor() : x.detach();
    if (runs != nullptr && stage > first_trainable_) input.set_requires_grad(true);
    const StageParams params = params_of(stage, runs != nullptr ? batch.draws : at::Tensor());
    at::Tensor output = stage == 0 ? model_.embed(params, batch) : model_.block(params, input, batch);
    x = output.detach();
    if (runs != nullptr) runs->push_back({input, keep_graph ? output : at::Tensor()});
    if (!stays_full(stage)) group_of(stage).keep_slice();
  }
  wait_unshard(last);
  return x;
}

// Frees the groups whose gradients are complete, and starts their reduction.
void ShardedModel::finish_backward(std::size_t stage, GradientSync sync, bool keep) {
  for (const std::size_t index : groups_of(stage)) {
    if (!is_first_use(stage, index)) continue;  // an earlier stage will add to the same gradients
    ParamGroup& group = *groups_[index];
    if (!keep) group.reshard();
    if (reducing_ != nullptr) reducing_->wait_reduce();
    group.start_reduce(sync);
    reducing_ = &group;
  }
}

// In reverse: gather again, start gathering those before, run the local graph's backward, start the reduction, free.
// keep: nothing is freed, and the last reduction goes on while the next micro-batch begins.
void ShardedModel::backward(const Batch& batch, std::vector<StageRun>& runs, at::Tensor grad, GradientSync sync,
                            bool keep) {
  const std::size_t last = model_.stages().size() - 1;
  mesh_.world().recorder().enter("backward, " + model_.stages()[last].name);
  prefetch_backward(last);
  finish_backward(last, sync, keep);
  for (std::size_t stage = last; stage-- > first_trainable_;) {
    mesh_.world().recorder().enter("backward, " + model_.stages()[stage].name);
    if (stage > 0) {
      wait_unshard(stage);
      prefetch_backward(stage);
    }
    StageRun& run = runs[stage];
    if (!run.output.defined()) {
      const at::AutoGradMode mode(true);
      run.output = model_.block(params_of(stage, batch.draws), run.input, batch);
    }
    run.output.backward(grad);
    if (stage > first_trainable_) grad = run.input.grad();
    run = {};
    finish_backward(stage, sync, keep);
  }
  if (keep) return;
  if (reducing_ != nullptr) std::exchange(reducing_, nullptr)->wait_reduce();
  for (auto& group : groups_) group->reshard();
}

double ShardedModel::accumulate(const Batch& batch, float scale, GradientSync sync, bool last_of_step) {
  std::vector<StageRun> runs;
  const at::Tensor x = forward(batch, &runs);
  mesh_.world().recorder().enter("head and loss");
  const std::size_t last = model_.stages().size() - 1;
  const HeadResult head = model_.head(params_of(last), x, batch, scale, first_trainable_ <= last);
  backward(batch, runs, head.grad_input, sync, !policy_.reshard_after_backward && !last_of_step);
  return head.loss_sum;
}

double ShardedModel::evaluate(const Batch& batch) {
  const at::NoGradGuard guard;
  const std::size_t last = model_.stages().size() - 1;
  const at::Tensor x = forward(batch, nullptr);
  const double loss = model_.head(params_of(last), x, batch, 1.0f, false).loss_sum;
  for (auto& group : groups_) group->reshard();
  return loss;
}

at::Tensor ShardedModel::logits(const Batch& batch) {
  const at::NoGradGuard guard;
  const at::Tensor x = forward(batch, nullptr);
  at::Tensor out = model_.logits(params_of(model_.stages().size() - 1), x);
  for (auto& group : groups_) group->reshard();
  return out;
}

}  // namespace fx::engine
