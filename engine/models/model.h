// What the step driver needs of a model: an ordered list of stages, each with the parameters that are gathered for it.
// A family implements this in engine/models/<family>/.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/kernels/dropout.h"
#include "engine/shard/layout.h"
#include "spec/model_shape.h"

namespace fx::engine {

// One micro-batch of one rank: T tokens of documents that lie one behind the other. Labels are on the CPU: which tokens
// have one decides what is computed; the others are on the model's device.
struct Batch {
  at::Tensor tokens;                 // int64 [T]
  at::Tensor labels;                 // int64 [T]: the next token to be predicted at each place, or negative
  at::Tensor positions;              // int64 [T], from 0 in each document
  std::vector<std::int64_t> starts;  // documents are [starts[d], starts[d + 1]); first 0, last T
  at::Tensor draws;                  // int64 [T] on the CPU: Dropout::rows; undefined: nothing is random
};

// A low-rank change of one of a stage's weights: weight + scale * b a, with a and b out of another group.
struct StageAdapter {
  std::size_t param = 0;  // place in StageDef::params
  std::size_t a = 0, b = 0;
  std::uint64_t stream = 0;  // of its dropout
};
struct StageAdapters {
  std::size_t group = 0;  // index into Model::groups; the same in every stage that has adapters
  float scale = 1;
  double dropout = 0;              // of their input, in training
  std::vector<StageAdapter> list;  // empty: none
};

// A stage of the forward pass. Several stages may use the parameters of one group (tied embedding and head).
struct StageDef {
  std::string name;                 // "embedding", "layer 3", "head"
  std::size_t group = 0;            // index into Model::groups
  std::vector<std::size_t> params;  // indices into that group, in the order in which the stage wants them
  StageAdapters adapters;
};

struct GroupDef {
  std::string name;
  std::vector<ParamDef> params;
};

struct HeadResult {
  double loss_sum = 0;    // over the valid labels
  at::Tensor grad_input;  // [T, hidden]; undefined when no gradient was asked for
};

// What a stage computes with.
struct StageParams {
  struct Adapter {
    at::Tensor a, b;  // [rank, in], [out, rank]; undefined: none
    Dropout dropout;
  };
  std::vector<at::Tensor> full;   // parameters in StageDef::params order
  std::vector<Adapter> adapters;  // as long as full, or empty
  float adapter_scale = 1;
  const at::Tensor& operator[](std::size_t place) const { return full[place]; }
};

// Stage 0 embeds, the last one is the head, the others are blocks. Const and free of communication.
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::vector<StageDef>& stages() const = 0;
  virtual const std::vector<GroupDef>& groups() const = 0;

  virtual at::Tensor embed(const StageParams& params, const Batch& batch) const = 0;  // [T, hidden]
  virtual at::Tensor block(const StageParams& params, const at::Tensor& x,
                           const Batch& batch) const = 0;  // [T, hidden]
  // Mean-free loss of the head; with gradients (each scaled by scale) those of the parameters are added to their
  // grad().
  virtual HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                          bool with_gradient) const = 0;
  virtual at::Tensor logits(const StageParams& params, const at::Tensor& x) const = 0;  // [T, vocab]
};

std::unique_ptr<Model> make_model(const ModelShape& shape);

}  // namespace fx::engine
