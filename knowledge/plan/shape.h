// One shape for every model family, and its parameter counts.
#pragma once

#include <string>
#include <vector>

#include "knowledge/plan/model_config.h"

namespace fx::knowledge::plan {

struct ModelShape {
  std::string family;  // model_type, or "llama-like" when assumed
  double hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, mlp = 0, vocab = 0, positions = 0;
  bool gated = true;  // MLP with a gate (SwiGLU, GeGLU): three matrices instead of two
  bool tied = false;  // output head shares the embedding's matrix
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  bool norm_bias = false;           // LayerNorm with a bias instead of RMSNorm
  bool qk_norm = false;             // a norm on each query and key head
  bool fused_qkv = false;           // query, key and value come out of one matrix product
  double norms = 2;                 // norms a layer
  double learned_positions = 0;     // rows of a learned position table
  double window = 0, windowed = 0;  // tokens that attention looks back in some layers, and the share of those layers
  double experts = 0, experts_per_token = 0, expert_mlp = 0, shared_mlp = 0;  // mixture of experts
  bool expert_bias = false;
  double dense_layers = 0;  // layers without experts in a mixture-of-experts model
  double q_rank = 0, kv_rank = 0, qk_nope = 0, qk_rope = 0, v_head = 0;  // multi-head latent attention (kv_rank > 0)
  std::vector<std::string> assumed;                                      // what was not stated, in words

  double q_width() const { return kv_rank > 0 ? heads * (qk_nope + qk_rope) : heads * head_dim; }
  double kv_width() const { return kv_rank > 0 ? heads * (qk_nope + qk_rope) : kv_heads * head_dim; }
  double out_width() const { return kv_rank > 0 ? heads * v_head : heads * head_dim; }
  bool is_moe() const { return experts > 0; }
};

// Parameters, not bytes. Per layer unless the name says otherwise.
struct ParamCount {
  double attention = 0, dense_mlp = 0, moe_mlp = 0, moe_mlp_active = 0, norms = 0;
  double experts_only = 0;                                        // the part of moe_mlp that expert parallelism divides
  double embedding = 0, positions = 0, head = 0, final_norm = 0;  // whole model; head is 0 when tied
  double total = 0, active = 0;                                   // whole model; active: what one token uses
  double matmul_active = 0;  // whole model: what one token multiplies with (output head yes, input embedding no)
  double largest_layer = 0, mean_layer = 0, mean_layer_active = 0;
  double quantizable = 0;  // whole model: the linear layers inside blocks
};

// Every mistake with its path below "model". Fields that are absent are assumed in the family's way, and said in
// assumed.
Result<ModelShape> read_model_shape(const ModelConfig& config);
// Where model.params_b disagrees with the shape, changes what the config did not state to what agrees, if anything
// does.
void match_count(const ModelConfig& config, ModelShape& shape);
ParamCount count_params(const ModelShape& shape);

}  // namespace fx::knowledge::plan
