// Bytes that forward keeps for backward, and bytes that simple kernels move, from the list of tensors of one layer.
#pragma once

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

// Bytes per token of one layer on one rank (tp divided where sequence parallelism divides).
struct LayerActivations {
  double spared = 0;     // of saved and in flight: what Liger's other kernels and fused adapters would not keep
  double saved = 0;      // without checkpointing, in the compute dtype
  double input = 0;      // the block's input: what full checkpointing keeps
  double selective = 0;  // what operator-level selective checkpointing keeps
  double work = 0;       // a recomputed layer at its fullest point in backward: saved + gradients in flight
  double traffic = 0;    // bytes moved by work that is not a matrix product, forward only
};
LayerActivations layer_activations(const ModelShape& shape, const Setting& setting);

// Bytes per token of one layer's keys and values on one rank: what use_cache keeps with the model's output.
double cache_bytes(const ModelShape& shape, const Setting& setting);

// Bytes per token that all layers of a rank keep, and the transient part.
struct KeptActivations {
  double kept = 0, work = 0;
};
KeptActivations kept_activations(const RankModel& model, const LayerActivations& layer, const Setting& setting);

// Bytes per token and vocabulary entry alive at the loss.
double logits_bytes(const ModelShape& shape, const Setting& setting);
// Bytes moved per token and vocabulary entry by loss forward and backward, products excluded.
double logits_traffic(const ModelShape& shape, const Setting& setting);

}  // namespace fx::knowledge::plan
