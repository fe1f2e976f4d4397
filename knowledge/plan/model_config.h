// The fields of a Hugging Face config.json that decide a model's size, under every name that model families use for
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/fields.h"

namespace fx::knowledge::plan {

// As written by the user; absent stays absent. Read by read_model_shape(), which turns the family's names into one
// shape.
struct ModelConfig {
  std::optional<std::string> model_type;
  std::vector<std::string> architectures;
  std::optional<double> params_b;  // 10^9 parameters, for models without a config
  std::optional<long long> hidden_size, n_embd, d_model;
  std::optional<long long> num_hidden_layers, n_layer, n_layers, num_layers;
  std::optional<long long> num_attention_heads, n_head, n_heads;
  std::optional<long long> num_key_value_heads, num_kv_heads, multi_query_group_num;
  std::optional<long long> head_dim, kv_channels;
  std::optional<long long> intermediate_size, ffn_hidden_size, n_inner;
  std::optional<double> expansion_ratio;
  std::optional<long long> vocab_size, padded_vocab_size;
  std::optional<long long> max_position_embeddings, n_positions, seq_length, max_seq_len;
  std::optional<bool> tie_word_embeddings, attention_bias, mlp_bias, no_bias, multi_query, learned_pos_emb;
  std::optional<std::string> hidden_act;
  std::optional<long long> num_local_experts, num_experts, n_routed_experts, moe_num_experts;
  std::optional<long long> num_experts_per_tok, moe_top_k;
  std::optional<long long> moe_intermediate_size, n_shared_experts, shared_expert_intermediate_size;
  std::optional<long long> first_k_dense_replace, decoder_sparse_step;
  std::optional<long long> q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  std::optional<long long> sliding_window, sliding_window_pattern;
  std::optional<bool> use_sliding_window;
  std::vector<std::string> layer_types;
  std::optional<RawJson> text_config;  // multi-modal configs keep the language model here
};

const Fields<ModelConfig>& model_config_fields();

}  // namespace fx::knowledge::plan
