// One training step over sharded parameters. The order of all gathers, computations and reductions is in step.cpp, in
// one function each for forward and backward.
#pragma once

#include <memory>
#include <vector>

#include "engine/models/model.h"
#include "engine/shard/param_group.h"

namespace fx::engine {

struct StepPolicy {
  MixedPrecision precision;
  bool reshard_after_forward = true;  // of blocks; the head's group stays gathered until its backward
  int keep_slice_ranks = 0;           // k: after the forward, blocks of k consecutive ranks keep one copy between them
  int replicate = 1;                  // copies of the sharded model
  // Of every n-th block only the input is kept, and it runs again in the backward: 1 all, 2 every second, 0 none.
  int recompute_every = 0;
  // false: parameters that a micro-batch's backward leaves full stay so until the last one of the step.
  bool reshard_after_backward = true;
  std::size_t forward_prefetch = 1, backward_prefetch = 1;  // stages gathered ahead of the one that computes
  bool cpu_offload = false;  // shards, gradients and optimizer state in host memory; CUDA only
};

// The groups of a model on one rank.
class ShardedModel {
 public:
  ShardedModel(const Model& model, const StepPolicy& policy, Collectives& comm);

  const Model& model() const { return model_; }
  std::vector<std::unique_ptr<ParamGroup>>& groups() { return groups_; }
  Mesh& mesh() { return mesh_; }

  // Forward and backward of one micro-batch: adds scale * gradient of its summed loss to the groups' grad(), reduced
  // over all ranks; returns this rank's summed loss. Every rank must call it equally often; a batch without valid
  // labels is fine. last_of_step: no other micro-batch follows. Before it, or without full sync, grad() may be
  // incomplete.
  double accumulate(const Batch& batch, float scale, GradientSync sync = GradientSync::kFull, bool last_of_step = true);
  // Summed loss without gradients.
  double evaluate(const Batch& batch);
  // Logits [T, vocab] of one batch, on every rank.
  at::Tensor logits(const Batch& batch);

 private:
  struct StageRun {
    at::Tensor input;   // leaf
    at::Tensor output;  // root of the stage's local graph; undefined when it is to be computed again
  };
  at::Tensor forward(const Batch& batch, std::vector<StageRun>* runs);
  void backward(const Batch& batch, std::vector<StageRun>& runs, at::Tensor grad, GradientSync sync, bool keep);
  void finish_backward(std::size_t stage, GradientSync sync, bool keep);
  void prefetch_forward(std::size_t stage);
  void prefetch_backward(std::size_t stage);
  // draws: Batch::draws in training, else undefined.
  StageParams params_of(std::size_t stage, const at::Tensor& draws = {});
  ParamGroup& group_of(std::size_t stage) { return *groups_[model_.stages()[stage].group]; }
  // Its own, and that of its adapters.
  std::vector<std::size_t> groups_of(std::size_t stage) const;
  void start_unshard(std::size_t stage);
  void wait_unshard(std::size_t stage);
  bool stays_full(std::size_t stage) const;
  bool recomputes(std::size_t stage) const;
  bool is_first_use(std::size_t stage, std::size_t group) const;

  const Model& model_;
  StepPolicy policy_;
  Mesh mesh_;
  std::vector<std::unique_ptr<ParamGroup>> groups_;
  ParamGroup* reducing_ = nullptr;   // whose reduction may be under way: one at a time
  std::size_t first_trainable_ = 0;  // stage; those before it need no gradient and no backward
};

}  // namespace fx::engine
