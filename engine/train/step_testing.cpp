#include "engine/train/step_testing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <utility>

#include "engine/comm/local.h"

namespace fx::engine::testing {

ModelShape tiny(bool tied) {
  ModelShape shape;
  shape.architecture = "LlamaForCausalLM";
  shape.hidden = 15, shape.layers = 3, shape.heads = 3, shape.kv_heads = 1, shape.head_dim = 6;
  shape.intermediate = 7, shape.vocab = 17, shape.tied = tied;
  return shape;
}

void initialise(ShardedModel& sharded) {
  std::int64_t seed = 0;
  for (auto& group : sharded.groups()) {
    for (std::size_t i = 0; i < group->layout().params.size(); ++i) {
      const ParamLayout& param = group->layout().params[i];
      at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(++seed));
      at::Tensor whole = at::randn({param.def.shape[0], param.row_size}, generator, at::kFloat) * 0.3;
      if (param.def.shape.size() == 1) whole = whole + 1;
      const RowRange rows = rows_of(param.def.shape[0], group->rank(), group->layout().size);
      group->weight_rows(i).copy_(whole.narrow(0, rows.begin, rows.count()));
    }
  }
}

Batch make_batch(int step, int pack) {
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(1000 + step * 64 + pack));
  Batch batch;
  batch.tokens = at::randint(0, 17, {9 + pack}, generator, at::kLong);
  batch.labels = at::randint(0, 17, {9 + pack}, generator, at::kLong);
  batch.labels.narrow(0, 0, 1 + pack % 3).fill_(-100);
  batch.starts = {0, 4, 9 + pack};
  batch.positions = at::cat({at::arange(4), at::arange(5 + pack)});
  std::vector<std::uint64_t> origins;
  for (int i = 0; i < 9 + pack; ++i) origins.push_back(static_cast<std::uint64_t>(pack * 100 + i));
  batch.draws = dropout_rows(origins, 5, static_cast<std::uint64_t>(step));
  return batch;
}

FrozenModel::FrozenModel(std::unique_ptr<Model> model, const std::function<bool(const std::string& name)>& frozen)
    : model_(std::move(model)), groups_(model_->groups()) {
  for (auto& group : groups_) {
    for (auto& param : group.params) param.trainable = !frozen(param.name);
  }
}

at::Tensor FrozenModel::embed(const StageParams& params, const Batch& batch) const {
  return model_->embed(params, batch);
}
at::Tensor FrozenModel::block(const StageParams& params, const at::Tensor& x, const Batch& batch) const {
  return model_->block(params, x, batch);
}
HeadResult FrozenModel::head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                             bool with_gradient) const {
  return model_->head(params, x, batch, scale, with_gradient);
}
at::Tensor FrozenModel::logits(const StageParams& params, const at::Tensor& x) const {
  return model_->logits(params, x);
}

namespace {

std::unique_ptr<Model> model_of(const Training& training) {
  auto model = training.make ? training.make() : make_model(tiny(training.tied));
  if (!training.frozen) return model;
  return std::make_unique<FrozenModel>(std::move(model), training.frozen);
}

// This rank's summed loss.
double one_step(const Training& training, int step, int rank, double valid, ShardedModel& sharded) {
  double loss = 0;
  for (int p = rank; p < training.packs; p += training.ranks) {
    const bool last = p + training.ranks >= training.packs;
    loss += sharded.accumulate(make_batch(step, p), static_cast<float>(1 / valid),
                               last ? GradientSync::kFull : training.early, last);
  }
  return loss;
}

}  // namespace

Outcome train(const Training& training) {
  Outcome outcome;
  std::mutex end;
  run_local_ranks(training.ranks, [&](Collectives& comm) {
    const auto model = model_of(training);
    ShardedModel sharded(*model, training.policy, comm);
    initialise(sharded);
    OptimizerSpec spec;
    spec.lr = 1e-2, spec.weight_decay = 0.1;
    AdamW optimizer(spec, sharded.groups());
    for (int step = 0; step < training.steps; ++step) {
      double valid = 0;
      for (int p = 0; p < training.packs; ++p) valid += (make_batch(step, p).labels >= 0).sum().item<double>();
      at::Tensor total = at::tensor({one_step(training, step, comm.rank(), valid, sharded)}, at::kDouble);
      comm.all_reduce_sum("loss", total);
      const double norm = clip_gradients(sharded.groups(), 1.0, sharded.mesh(), training.clip_norm);
      optimizer.step(spec.lr);
      if (comm.rank() == 0) {
        outcome.losses.push_back(total.item<double>() / valid);
        outcome.norms.push_back(norm);
      }
    }
    if (comm.rank() == 0) outcome.stats = sharded.mesh().stats();
    const std::lock_guard lock(end);
    if (training.at_end) training.at_end(sharded);
  });
  return outcome;
}

StepPolicy fp32_policy() {
  StepPolicy policy;
  policy.precision.param_dtype = at::kFloat;
  return policy;
}

void expect_close(const Outcome& a, const Outcome& b, double tolerance) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    EXPECT_NEAR(a.losses[i], b.losses[i], tolerance * std::abs(a.losses[i])) << "step " << i;
    EXPECT_NEAR(a.norms[i], b.norms[i], 10 * tolerance * std::abs(a.norms[i])) << "step " << i;
  }
}

}  // namespace fx::engine::testing
