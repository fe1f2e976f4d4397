// What the tests of training steps share: a tiny model, its weights and batches, and a short training on ranks that are
// threads.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/train/optimizer.h"
#include "engine/train/step.h"

namespace fx::engine::testing {

ModelShape tiny(bool tied);  // odd sizes: uneven shards everywhere, and empty ones on four ranks
// The same weights whatever the number of ranks: generated whole, each rank keeps its rows.
void initialise(ShardedModel& sharded);
// Pack p of a step: two documents, some labels masked.
Batch make_batch(int step, int pack);

// The same model with other parameters frozen.
class FrozenModel : public Model {
 public:
  FrozenModel(std::unique_ptr<Model> model, const std::function<bool(const std::string& name)>& frozen);
  const std::vector<StageDef>& stages() const override { return model_->stages(); }
  const std::vector<GroupDef>& groups() const override { return groups_; }
  at::Tensor embed(const StageParams& params, const Batch& batch) const override;
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override;
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override;
  at::Tensor logits(const StageParams& params, const at::Tensor& x) const override;

 private:
  std::unique_ptr<Model> model_;
  std::vector<GroupDef> groups_;
};

struct Training {
  int ranks = 1;
  bool tied = true;
  StepPolicy policy;
  int steps = 10;
  int packs = 6;  // a step, over all ranks: must divide by ranks
  double clip_norm = 2;
  GradientSync early = GradientSync::kFull;                  // of all micro-batches of a step but the last
  std::function<bool(const std::string& name)> frozen = {};  // none: everything is trained
  std::function<void(ShardedModel& sharded)> at_end = {};    // on every rank, one after the other
  std::function<std::unique_ptr<Model>()> make = {};         // instead of the tiny model
};

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  CommStats stats;  // of rank 0, whole run
};

StepPolicy fp32_policy();
Outcome train(const Training& training);
void expect_close(const Outcome& a, const Outcome& b, double tolerance);

}  // namespace fx::engine::testing
