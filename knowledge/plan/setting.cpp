#include "knowledge/plan/setting.h"

#include <algorithm>
#include <cmath>

namespace fx::knowledge::plan {

bool is_fsdp(Sharding s) {
  return s == Sharding::kFsdp1 || s == Sharding::kFsdp2 || s == Sharding::kHsdp || s == Sharding::kZero3 ||
         s == Sharding::kMegatron;
}

bool is_deepspeed(Sharding s) {
  return s == Sharding::kZero1 || s == Sharding::kZero2 || s == Sharding::kZero3;
}

bool is_lora(const Setting& s) {
  return s.method != Method::kFull;
}

bool is_three_dimensional(const Setting& s) {
  return s.sharding == Sharding::kZero1 && s.tp * s.pp > 1;
}

bool assumes_narrow_gradients(const Setting& s) {
  return s.tuned && s.sharding == Sharding::kZero1 && !s.reduce_asked;
}

bool widens_rest(const Setting& s) {
  const bool library = !s.own_loop && s.loss != Loss::kFused;
  const bool prepared = s.quant == Quant::kNf4 || s.quant == Quant::kNf4Double || s.quant == Quant::kInt8;
  return prepared && library && !s.amp_asked && s.master_bytes > s.param_bytes && s.sharding == Sharding::kNone;
}

double element_bytes(const Setting& s) {
  return widens_rest(s) ? 4 : s.param_bytes;
}

Shards shards_of(const Setting& s, const Machine& m) {
  Shards out;
  out.data_parallel = std::max(1.0, std::floor(m.world() / (s.tp * s.pp * s.cp)));
  // Context-parallel ranks hold the same parameters, so they take part in sharding.
  const double n = out.data_parallel * s.cp;
  switch (s.sharding) {
    case Sharding::kNone:
    case Sharding::kDdp:
      break;
    case Sharding::kZero1:
      out.optimizer = n;
      break;
    case Sharding::kZero2:
      out.grads = out.optimizer = n;
      break;
    case Sharding::kHsdp: {
      const double group = s.shard_size > 0 ? s.shard_size : std::max(1.0, std::floor(m.gpus_per_node / s.tp));
      out.weights = out.grads = out.optimizer = std::min(n, group);
      break;
    }
    default:
      out.weights = out.grads = out.optimizer = n;
  }
  return out;
}

namespace {

// Layers on the fullest rank. Pipelines weigh the head as the layers that cost as much (DeepSpeed's default partition
// by parameters, nanotron by arithmetic, torchtitan as one); hand-tuned ones are given even stages.
double layers_of_rank(const ModelShape& shape, const ParamCount& c, const Setting& s) {
  if (s.pp <= 1 || s.tuned) return std::ceil(shape.layers / s.pp);
  const double head = shape.vocab * shape.hidden / c.mean_layer_active;
  return std::min(shape.layers, std::ceil((shape.layers + head) / s.pp));
}

}  // namespace

RankModel rank_model(const ModelShape& shape, const ParamCount& c, const Setting& s) {
  RankModel r{shape, c};
  r.layers = layers_of_rank(shape, c, s);
  const double mean_experts = shape.is_moe() ? (shape.layers - shape.dense_layers) / shape.layers * c.experts_only : 0;
  const double mean_layer = (c.mean_layer - mean_experts) / s.tp + mean_experts / (s.tp * s.ep);
  r.block_params = r.layers * mean_layer;
  r.expert_params = r.layers * mean_experts / (s.tp * s.ep);
  r.quantizable = r.block_params * c.quantizable / (shape.layers * c.mean_layer);
  r.block_active = r.layers * c.mean_layer_active / s.tp;
  const double experts = shape.is_moe() ? c.experts_only : 0;
  r.layer_params = (c.largest_layer - experts) / s.tp + experts / (s.tp * s.ep);
  const double outside = c.embedding + c.head + c.positions + c.final_norm;
  // With a pipeline the last rank has the head and the first the embedding; either is one matrix.
  r.root_params = (s.pp > 1 ? std::max(c.embedding, c.head) : outside) / s.tp;
  return r;
}

}  // namespace fx::knowledge::plan
