#include "knowledge/plan/shape.h"

#include <cmath>

namespace fx::knowledge::plan {
namespace {

double linear(double in, double out, bool bias) {
  return in * out + (bias ? out : 0);
}

double attention_params(const ModelShape& s) {
  const double q = s.q_width(), h = s.hidden;
  if (s.kv_rank > 0) {
    const double queries = s.q_rank > 0 ? h * s.q_rank + s.q_rank + s.q_rank * q : h * q;
    const double keys = h * (s.kv_rank + s.qk_rope) + s.kv_rank + s.kv_rank * s.heads * (s.qk_nope + s.v_head);
    return queries + keys + s.out_width() * h;
  }
  const double kv = s.kv_width();
  return linear(h, q, s.qkv_bias) + 2 * linear(h, kv, s.qkv_bias) + linear(q, h, s.out_bias) +
         (s.qk_norm ? 2 * s.head_dim : 0);
}

double mlp_params(const ModelShape& s, double width, bool bias) {
  return (s.gated ? 2.0 : 1.0) * linear(s.hidden, width, bias) + linear(width, s.hidden, bias);
}

}  // namespace

ParamCount count_params(const ModelShape& s) {
  ParamCount p;
  p.attention = attention_params(s);
  p.dense_mlp = mlp_params(s, s.mlp, s.mlp_bias);
  const double norm = s.norm_bias ? 2 * s.hidden : s.hidden;
  p.norms = s.norms * norm;
  p.final_norm = norm;
  if (s.is_moe()) {
    const double shared = s.shared_mlp > 0 ? mlp_params(s, s.shared_mlp, false) : 0;
    const double router = s.hidden * s.experts;
    p.experts_only = s.experts * mlp_params(s, s.expert_mlp, s.expert_bias);
    p.moe_mlp = p.experts_only + shared + router;
    p.moe_mlp_active = s.experts_per_token * mlp_params(s, s.expert_mlp, s.expert_bias) + shared + router;
  }
  p.embedding = s.vocab * s.hidden;
  p.head = s.tied ? 0 : p.embedding;
  p.positions = s.learned_positions * s.hidden;
  const double dense = s.is_moe() ? s.dense_layers : s.layers;
  const double sparse = s.layers - dense;
  const double every = s.layers * (p.attention + p.norms);
  const double blocks = every + dense * p.dense_mlp + sparse * p.moe_mlp;
  const double blocks_active = every + dense * p.dense_mlp + sparse * p.moe_mlp_active;
  const double outside = p.embedding + p.head + p.positions + p.final_norm;
  p.total = blocks + outside;
  p.active = blocks_active + outside;
  p.matmul_active = blocks_active - s.layers * p.norms + p.embedding;
  p.largest_layer = p.attention + p.norms + std::max(dense > 0 ? p.dense_mlp : 0, p.moe_mlp);
  p.mean_layer = blocks / s.layers;
  p.mean_layer_active = blocks_active / s.layers;
  p.quantizable = blocks - s.layers * p.norms - sparse * s.hidden * s.experts;
  return p;
}

}  // namespace fx::knowledge::plan
