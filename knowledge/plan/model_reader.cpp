// From a family's config.json names to one shape. Facts about families come from their published configs and parameter
// counts.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/plan/shape.h"

namespace fx::knowledge::plan {
namespace {

using Number = std::optional<long long>;

std::optional<double> first_of(std::initializer_list<Number> values) {
  for (const auto& value : values) {
    if (value) return static_cast<double>(*value);
  }
  return std::nullopt;
}

std::string family_of(const ModelConfig& c) {
  if (c.model_type && !c.model_type->empty()) return to_lower(quote_input(*c.model_type, 40));
  for (const auto& [part, family] : {std::pair{"qwenlm", "qwen"},
                                     {"gpt2", "gpt2"},
                                     {"bigcode", "gpt_bigcode"},
                                     {"mpt", "mpt"},
                                     {"neox", "gpt_neox"}}) {
    if (!c.architectures.empty() && contains_ignoring_case(c.architectures[0], part)) return family;
  }
  return "llama-like";
}

bool is_one_of(const std::string& family, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (family == name) return true;
  }
  return false;
}

// Families whose MLP has no gate, with biases everywhere and LayerNorm.
bool classic(const std::string& f) {
  return is_one_of(f,
                   {"gpt2", "gpt_bigcode", "mpt", "gpt_neox", "gptj", "opt", "bloom", "phi", "falcon", "starcoder2"});
}

void set_family(const ModelConfig& c, ModelShape& s) {
  const std::string& f = s.family;
  const bool plain = classic(f);
  // A squared rectifier has no gate.
  const bool squared = f == "nemotron" || (c.hidden_act && contains(*c.hidden_act, "relu2"));
  s.gated = !plain && !squared;
  s.norm_bias = plain || is_one_of(f, {"stablelm", "nemotron"});
  const bool biased = plain && f != "falcon" && f != "gptj" && !c.no_bias.value_or(false);
  s.qkv_bias = c.attention_bias.value_or(biased || is_one_of(f, {"qwen2", "qwen2_moe", "qwen", "gpt_oss", "chatglm"}));
  s.out_bias = c.attention_bias.value_or(false) ? !is_one_of(f, {"qwen2", "qwen2_moe"}) : biased;
  if (f == "gpt_oss") s.qkv_bias = s.out_bias = s.expert_bias = true;
  s.mlp_bias = c.mlp_bias.value_or(biased);
  s.qk_norm = is_one_of(f, {"qwen3", "qwen3_moe", "gemma3", "gemma3_text", "olmo2"});
  s.fused_qkv = is_one_of(f, {"qwen", "phi3", "falcon", "chatglm", "baichuan", "gpt_neox", "internlm2", "mpt", "bloom",
                              "gpt2", "gpt_bigcode"});
  if (is_one_of(f, {"gemma2", "gemma3", "gemma3_text", "glm4"})) s.norms = 4;
  if (is_one_of(f, {"phi", "gptj"})) s.norms = 1;  // attention and MLP read the same normed input
  const bool tied_by_default = is_one_of(f, {"gpt2", "gpt_bigcode", "mpt", "gemma", "gemma2", "gemma3", "gemma3_text",
                                             "bloom", "opt", "falcon", "starcoder2", "cohere", "cohere2"});
  s.tied = c.tie_word_embeddings.value_or(tied_by_default);
}

void set_heads(const ModelConfig& c, ModelShape& s, std::vector<Error>& errors) {
  const auto heads = first_of({c.num_attention_heads, c.n_head, c.n_heads});
  s.heads = heads.value_or(std::max(1.0, std::round(s.hidden / 128)));
  if (!heads) s.assumed.push_back("heads of 128 (model.num_attention_heads is missing)");
  s.kv_heads = first_of({c.num_key_value_heads, c.num_kv_heads, c.multi_query_group_num}).value_or(s.heads);
  if (c.multi_query.value_or(false) && !c.num_key_value_heads) s.kv_heads = 1;
  if (s.kv_heads > s.heads || std::fmod(s.heads, s.kv_heads) != 0) {
    errors.push_back(invalid_argument("model.num_key_value_heads", "does not divide the number of attention heads",
                                      "use a divisor of num_attention_heads"));
  }
  if (const auto dim = first_of({c.head_dim, c.kv_channels})) {
    s.head_dim = *dim;
  } else {
    if (!c.kv_lora_rank && std::fmod(s.hidden, s.heads) != 0) {
      errors.push_back(invalid_argument("model.num_attention_heads", "does not divide hidden_size",
                                        "correct one of them, or give head_dim"));
    }
    s.head_dim = std::max(1.0, std::floor(s.hidden / s.heads));
  }
  if (!c.kv_lora_rank) return;
  s.kv_rank = static_cast<double>(*c.kv_lora_rank);
  s.q_rank = static_cast<double>(c.q_lora_rank.value_or(0));
  s.qk_nope = first_of({c.qk_nope_head_dim}).value_or(s.head_dim);
  s.qk_rope = static_cast<double>(c.qk_rope_head_dim.value_or(0));
  s.v_head = first_of({c.v_head_dim}).value_or(s.qk_nope);
}

void set_experts(const ModelConfig& c, ModelShape& s, std::vector<Error>& errors) {
  s.experts = first_of({c.num_local_experts, c.num_experts, c.n_routed_experts, c.moe_num_experts}).value_or(0);
  if (s.experts <= 1) {
    s.experts = 0;
    return;
  }
  s.experts_per_token = first_of({c.num_experts_per_tok, c.moe_top_k}).value_or(0);
  if (s.experts_per_token < 1 || s.experts_per_token > s.experts) {
    errors.push_back(invalid_argument("model.num_experts_per_tok", "must be between 1 and the number of experts",
                                      "copy it from config.json"));
  }
  s.expert_mlp = first_of({c.moe_intermediate_size}).value_or(s.mlp);
  if (c.shared_expert_intermediate_size) s.shared_mlp = static_cast<double>(*c.shared_expert_intermediate_size);
  if (c.n_shared_experts) s.shared_mlp = static_cast<double>(*c.n_shared_experts) * s.expert_mlp;
  s.dense_layers = static_cast<double>(c.first_k_dense_replace.value_or(0));
  const double step = static_cast<double>(c.decoder_sparse_step.value_or(1));
  if (step > 1) s.dense_layers = s.layers - std::floor(s.layers / step);
  if (s.dense_layers > s.layers) {
    errors.push_back(invalid_argument("model.first_k_dense_replace", "is larger than the number of layers", ""));
  }
}

// MLP width, when the config does not give it: solved from the parameter count if that is known.
double missing_mlp(const ModelConfig& c, ModelShape s) {
  if (classic(s.family)) return 4 * s.hidden;
  if (!c.params_b) return 256 * std::round(8.0 / 3 * s.hidden / 256);
  s.mlp = 0;
  const double rest = *c.params_b * 1e9 - count_params(s).total;
  return std::max(s.hidden, std::round(rest / (s.layers * s.hidden * (s.gated ? 3 : 2))));
}

// A Llama-like shape for a bare parameter count: 12 h^2 a layer with layers = h / 128, the middle of published dense
// models.
ModelShape shape_from_count(double params) {
  ModelShape s;
  s.family = "llama-like";
  s.tied = params < 3e9;
  s.vocab = params < 3e8 ? 32000 : 128256;
  double h = 256;
  while (h < 65536 && 12 * h * h * (h / 128) + (s.tied ? 1 : 2) * s.vocab * h < params) h += 64;
  s.hidden = h;
  s.heads = s.kv_heads = h / 64;
  s.head_dim = 64;
  if (std::fmod(h, 128) == 0) s.heads = s.kv_heads = h / 128, s.head_dim = 128;
  s.layers = std::max(1.0, std::round(h / 128));
  s.positions = 8192;
  s.mlp = 0;
  const double rest = params - count_params(s).total;
  s.mlp = std::max(1.0, std::round(rest / (s.layers * h * 3)));
  s.assumed.push_back("a Llama-like shape, because only model.params_b was given");
  return s;
}

void set_sizes(const ModelConfig& c, ModelShape& s) {
  const auto vocab = first_of({c.vocab_size, c.padded_vocab_size});
  s.vocab = vocab.value_or(32000);
  if (!vocab) s.assumed.push_back("a vocabulary of 32,000 (model.vocab_size is missing)");
  s.positions = first_of({c.max_position_embeddings, c.n_positions, c.seq_length, c.max_seq_len}).value_or(0);
  const bool learned =
      is_one_of(s.family, {"gpt2", "gpt_bigcode", "opt"}) || (s.family == "mpt" && c.learned_pos_emb.value_or(true));
  if (learned) s.learned_positions = s.positions;
  const auto mlp = first_of({c.intermediate_size, c.ffn_hidden_size, c.n_inner});
  if (mlp) {
    s.mlp = s.family == "qwen" ? *mlp / 2 : *mlp;
  } else if (c.expansion_ratio) {
    s.mlp = *c.expansion_ratio * s.hidden;
  } else {
    s.mlp = missing_mlp(c, s);
    s.assumed.push_back("an MLP width of " + std::to_string(static_cast<long long>(s.mlp)) +
                        " (model.intermediate_size is missing)");
  }
}

// Window that a family has where its config.json does not say, and of how many layers one is without.
struct FamilyWindow {
  std::string_view family;
  double window, pattern;
};
constexpr FamilyWindow kFamilyWindows[] = {
    {"gpt_oss", 128, 2}, {"gemma2", 4096, 2}, {"gemma3", 1024, 6}, {"gemma3_text", 1024, 6}};

void set_window(const ModelConfig& c, ModelShape& s) {
  double pattern = 0;  // all layers
  for (const auto& family : kFamilyWindows) {
    if (s.family == family.family) s.window = family.window, pattern = family.pattern;
  }
  s.window = first_of({c.sliding_window}).value_or(s.window);
  pattern = first_of({c.sliding_window_pattern}).value_or(pattern);
  // Qwen's configs carry a window that is not in force unless they say so.
  if (!c.use_sliding_window.value_or(!contains(s.family, "qwen"))) s.window = 0;
  s.windowed = s.window <= 0 ? 0 : pattern > 0 ? 1 - 1 / pattern : 1;
  if (c.layer_types.empty() || s.window <= 0) return;
  const auto sliding = std::ranges::count(c.layer_types, "sliding_attention");
  s.windowed = static_cast<double>(sliding) / static_cast<double>(c.layer_types.size());
}

Result<ModelShape> read_nested(const ModelConfig& c) {
  const auto json = parse_json(c.text_config->text);
  if (!json) return json.error();
  ReadLog log;
  ModelConfig inner;
  model_config_fields().read(*json, "model.text_config", log, inner);
  if (!log.errors.empty()) return combine(std::move(log.errors));
  inner.text_config.reset();
  if (!inner.params_b) inner.params_b = c.params_b;
  return read_model_shape(inner);
}

}  // namespace

Result<ModelShape> read_model_shape(const ModelConfig& c) {
  const auto hidden = first_of({c.hidden_size, c.n_embd, c.d_model});
  const auto layers = first_of({c.num_hidden_layers, c.n_layer, c.n_layers, c.num_layers});
  if (!hidden && !layers && c.text_config) return read_nested(c);
  if (!hidden && !layers && c.params_b) return shape_from_count(*c.params_b * 1e9);
  std::vector<Error> errors;
  const std::string hint = "copy it from config.json, or give model.params_b alone";
  if (!hidden) errors.push_back(invalid_argument("model.hidden_size", "is missing", hint));
  if (!layers) errors.push_back(invalid_argument("model.num_hidden_layers", "is missing", hint));
  if (!errors.empty()) return combine(std::move(errors));
  ModelShape s;
  s.family = family_of(c);
  s.hidden = *hidden;
  s.layers = *layers;
  set_family(c, s);
  set_heads(c, s, errors);
  set_sizes(c, s);
  set_experts(c, s, errors);
  set_window(c, s);
  if (!errors.empty()) return combine(std::move(errors));
  match_count(c, s);
  return s;
}

}  // namespace fx::knowledge::plan
