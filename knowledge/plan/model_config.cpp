#include "knowledge/plan/model_config.h"

namespace fx::knowledge::plan {
namespace {

// Far above any model that exists; below what would overflow the arithmetic.
constexpr double kMaxWidth = 1e6;
constexpr double kMaxLayers = 1e4;
constexpr double kMaxVocab = 1e8;
constexpr double kMaxExperts = 1e5;

using C = ModelConfig;

void add_widths(Fields<C>& f) {
  for (const auto& [name, member, help] :
       {std::tuple{"hidden_size", &C::hidden_size, "width of the residual stream"},
        {"n_embd", &C::n_embd, "hidden_size of GPT-2 like configs"},
        {"d_model", &C::d_model, "hidden_size of MPT like configs"},
        {"num_attention_heads", &C::num_attention_heads, "query heads"},
        {"n_head", &C::n_head, "query heads of GPT-2 like configs"},
        {"n_heads", &C::n_heads, "query heads of MPT like configs"},
        {"num_key_value_heads", &C::num_key_value_heads, "key and value heads (grouped-query attention)"},
        {"num_kv_heads", &C::num_kv_heads, "key and value heads of Falcon like configs"},
        {"multi_query_group_num", &C::multi_query_group_num, "key and value heads of ChatGLM like configs"},
        {"head_dim", &C::head_dim, "width of one head; default hidden_size / heads"},
        {"kv_channels", &C::kv_channels, "head_dim of Qwen (first generation) configs"},
        {"intermediate_size", &C::intermediate_size, "width of the MLP (twice the real one in first-generation Qwen)"},
        {"ffn_hidden_size", &C::ffn_hidden_size, "width of the MLP in ChatGLM like configs"},
        {"n_inner", &C::n_inner, "width of the MLP in GPT-2 like configs"},
        {"moe_intermediate_size", &C::moe_intermediate_size, "width of one expert"},
        {"shared_expert_intermediate_size", &C::shared_expert_intermediate_size, "width of the always-on expert"},
        {"qk_nope_head_dim", &C::qk_nope_head_dim, "multi-head latent attention: head width without position"},
        {"v_head_dim", &C::v_head_dim, "multi-head latent attention: value head width"},
        {"kv_lora_rank", &C::kv_lora_rank, "multi-head latent attention: rank of keys and values"}}) {
    f.add(name, member, help).min(1).max(kMaxWidth);
  }
}

void add_counts(Fields<C>& f) {
  for (const auto& [name, member, help, low, high] :
       {std::tuple{"num_hidden_layers", &C::num_hidden_layers, "transformer blocks", 1.0, kMaxLayers},
        {"n_layer", &C::n_layer, "blocks of GPT-2 like configs", 1.0, kMaxLayers},
        {"n_layers", &C::n_layers, "blocks of MPT like configs", 1.0, kMaxLayers},
        {"num_layers", &C::num_layers, "blocks of ChatGLM like configs", 1.0, kMaxLayers},
        {"vocab_size", &C::vocab_size, "rows of the embedding", 1.0, kMaxVocab},
        {"padded_vocab_size", &C::padded_vocab_size, "vocab_size of ChatGLM like configs", 1.0, kMaxVocab},
        {"max_position_embeddings", &C::max_position_embeddings, "longest sequence", 1.0, 1e9},
        {"n_positions", &C::n_positions, "longest sequence of GPT-2 like configs", 1.0, 1e9},
        {"seq_length", &C::seq_length, "longest sequence of Qwen (first generation) configs", 1.0, 1e9},
        {"max_seq_len", &C::max_seq_len, "longest sequence of MPT like configs", 1.0, 1e9},
        {"num_local_experts", &C::num_local_experts, "experts of a layer", 0.0, kMaxExperts},
        {"num_experts", &C::num_experts, "experts of a layer", 0.0, kMaxExperts},
        {"n_routed_experts", &C::n_routed_experts, "experts of a layer", 0.0, kMaxExperts},
        {"moe_num_experts", &C::moe_num_experts, "experts of a layer", 0.0, kMaxExperts},
        {"num_experts_per_tok", &C::num_experts_per_tok, "experts that one token uses", 0.0, kMaxExperts},
        {"moe_top_k", &C::moe_top_k, "experts that one token uses", 0.0, kMaxExperts},
        {"n_shared_experts", &C::n_shared_experts, "experts that every token uses", 0.0, kMaxExperts},
        {"first_k_dense_replace", &C::first_k_dense_replace, "first layers without experts", 0.0, kMaxLayers},
        {"decoder_sparse_step", &C::decoder_sparse_step, "every how many layers have experts", 1.0, kMaxLayers},
        {"q_lora_rank", &C::q_lora_rank, "multi-head latent attention: rank of queries", 0.0, kMaxWidth},
        {"qk_rope_head_dim", &C::qk_rope_head_dim, "multi-head latent attention: head width with position", 0.0,
         kMaxWidth},
        {"sliding_window", &C::sliding_window, "tokens that attention looks back", 0.0, 1e9},
        {"sliding_window_pattern", &C::sliding_window_pattern, "one layer in so many looks back at everything", 1.0,
         1e4}}) {
    f.add(name, member, help).min(low).max(high);
  }
}

Fields<C> make_fields() {
  Fields<C> f;
  f.add("model_type", &C::model_type, "family name as in config.json");
  f.add("architectures", &C::architectures, "class names as in config.json");
  f.add("params_b", &C::params_b, "10^9 parameters, for a model without a config").above(0).max(1e5);
  add_widths(f);
  add_counts(f);
  f.add("expansion_ratio", &C::expansion_ratio, "MLP width over hidden_size in MPT like configs").above(0).max(1000);
  f.add("tie_word_embeddings", &C::tie_word_embeddings, "output head shares the embedding");
  f.add("attention_bias", &C::attention_bias, "query, key and value projections have biases");
  f.add("mlp_bias", &C::mlp_bias, "MLP projections have biases");
  f.add("no_bias", &C::no_bias, "no projection has a bias (MPT, Qwen)");
  f.add("multi_query", &C::multi_query, "one key and value head (GPT-BigCode, Falcon)");
  f.add("learned_pos_emb", &C::learned_pos_emb, "learned position table (MPT)");
  f.add("use_sliding_window", &C::use_sliding_window, "whether sliding_window is in force (Qwen)");
  f.add("layer_types", &C::layer_types, "kind of attention of each layer: full_attention or sliding_attention");
  f.add("hidden_act", &C::hidden_act, "activation function of the MLP");
  f.add("text_config", &C::text_config, "the language model's config inside a multi-modal one").open();
  return f;
}

}  // namespace

const Fields<ModelConfig>& model_config_fields() {
  static const Fields<ModelConfig> fields = make_fields();
  return fields;
}

}  // namespace fx::knowledge::plan
