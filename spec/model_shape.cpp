#include "spec/model_shape.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "spec/fields.h"

namespace fx {
namespace {

// config.json as written: names differ between transformers versions, so some fields have two.
struct RopeFields {
  std::optional<std::string> rope_type, type;
  std::optional<double> rope_theta, factor, low_freq_factor, high_freq_factor;
  std::optional<long long> original_max_position_embeddings;
};
struct ConfigFields {
  std::vector<std::string> architectures, layer_types;
  long long hidden_size = 0, num_hidden_layers = 0, num_attention_heads = 0, intermediate_size = 0, vocab_size = 0;
  std::optional<long long> num_key_value_heads, head_dim, sliding_window, max_window_layers;
  bool use_sliding_window = false;
  long long max_position_embeddings = 2048;
  bool tie_word_embeddings = false, attention_bias = false, mlp_bias = false;
  double rope_theta = 10000, rms_norm_eps = 1e-6;
  std::string hidden_act = "silu";
  std::optional<std::string> dtype, torch_dtype;
  RopeFields rope_scaling, rope_parameters;
};

const Fields<RopeFields>& rope_fields() {
  static const auto fields =
      Fields<RopeFields>{}
          .add("rope_type", &RopeFields::rope_type, "kind of RoPE")
          .add("type", &RopeFields::type, "kind of RoPE, older name")
          .add("rope_theta", &RopeFields::rope_theta, "RoPE base")
          .above(0)
          .max(1e12)
          .add("factor", &RopeFields::factor, "how far positions are stretched")
          .min(1)
          .max(1e6)
          .add("low_freq_factor", &RopeFields::low_freq_factor, "llama3")
          .above(0)
          .max(1e6)
          .add("high_freq_factor", &RopeFields::high_freq_factor, "llama3")
          .above(0)
          .max(1e6)
          .add("original_max_position_embeddings", &RopeFields::original_max_position_embeddings, "llama3")
          .min(1)
          .max(1e9);
  return fields;
}

const Fields<ConfigFields>& config_fields() {
  static const auto fields =
      Fields<ConfigFields>{}
          .add("architectures", &ConfigFields::architectures, "the model's class")
          .max_items(16)
          .add("hidden_size", &ConfigFields::hidden_size, "width")
          .required()
          .min(1)
          .max(1 << 20)
          .add("num_hidden_layers", &ConfigFields::num_hidden_layers, "blocks")
          .required()
          .min(1)
          .max(10000)
          .add("num_attention_heads", &ConfigFields::num_attention_heads, "query heads")
          .required()
          .min(1)
          .max(1 << 16)
          .add("num_key_value_heads", &ConfigFields::num_key_value_heads, "key and value heads")
          .min(1)
          .max(1 << 16)
          .add("head_dim", &ConfigFields::head_dim, "width of a head")
          .min(2)
          .max(1 << 16)
          .add("intermediate_size", &ConfigFields::intermediate_size, "MLP width")
          .required()
          .min(1)
          .max(1 << 24)
          .add("vocab_size", &ConfigFields::vocab_size, "token ids")
          .required()
          .min(1)
          .max(1 << 28)
          .add("max_position_embeddings", &ConfigFields::max_position_embeddings, "positions")
          .min(1)
          .max(1e9)
          .add("tie_word_embeddings", &ConfigFields::tie_word_embeddings, "head shares the embedding")
          .add("sliding_window", &ConfigFields::sliding_window, "positions that attention reaches back")
          .min(1)
          .max(1e9)
          .add("use_sliding_window", &ConfigFields::use_sliding_window, "Qwen: whether it is used")
          .add("max_window_layers", &ConfigFields::max_window_layers, "Qwen: first layer that uses it")
          .min(0)
          .max(1e9)
          .add("layer_types", &ConfigFields::layer_types, "kind of attention of each layer")
          .max_items(10000)
          .add("attention_bias", &ConfigFields::attention_bias, "biases in attention")
          .add("mlp_bias", &ConfigFields::mlp_bias, "biases in the MLP")
          .add("rope_theta", &ConfigFields::rope_theta, "RoPE base")
          .above(0)
          .max(1e12)
          .add("rms_norm_eps", &ConfigFields::rms_norm_eps, "RMSNorm epsilon")
          .above(0)
          .max(1)
          .add("hidden_act", &ConfigFields::hidden_act, "activation")
          .add("dtype", &ConfigFields::dtype, "of the files")
          .add("torch_dtype", &ConfigFields::torch_dtype, "of the files, older name")
          .add("rope_scaling", &ConfigFields::rope_scaling, "RoPE variant", rope_fields())
          .add("rope_parameters", &ConfigFields::rope_parameters, "RoPE variant, newer name", rope_fields());
  return fields;
}

// What a family has beside Llama's, and what its config.json means where it says nothing.
struct Family {
  const char* architecture;
  bool qkv_bias, qk_norm;
  bool window_is_switched;            // by use_sliding_window; else the size alone decides
  long long default_window;           // 0: the family knows none
  std::optional<long long> head_dim;  // default; none: hidden / heads
};
constexpr Family kFamilies[] = {
    {"LlamaForCausalLM", false, false, false, 0, {}},
    {"MistralForCausalLM", false, false, false, 4096, {}},
    {"Qwen2ForCausalLM", true, false, true, 4096, {}},
    {"Qwen3ForCausalLM", false, true, true, 4096, 128},
};

const Family& family_of(const std::string& architecture) {
  for (const auto& family : kFamilies) {
    if (family.architecture == architecture) return family;
  }
  return kFamilies[0];
}

std::string supported_list() {
  return "supported: " + join(supported_architectures(), ", ");
}

void check_architecture(const ConfigFields& config, std::vector<Error>& errors) {
  for (const auto& name : config.architectures) {
    for (const auto& known : supported_architectures()) {
      if (name == known) return;
    }
  }
  const std::string given = config.architectures.empty()
                                ? "missing"
                                : "\"" + quote_input(config.architectures.front(), 60) + "\" is not supported";
  errors.push_back(unsupported("architectures", given, supported_list()));
}

void check_features(const ConfigFields& config, std::vector<Error>& errors) {
  if (config.attention_bias)
    errors.push_back(unsupported("attention_bias", "biases are not supported", supported_list()));
  if (config.mlp_bias) errors.push_back(unsupported("mlp_bias", "biases are not supported", supported_list()));
  if (config.hidden_act != "silu") {
    errors.push_back(unsupported("hidden_act", "\"" + quote_input(config.hidden_act, 40) + "\" is not supported",
                                 "supported: silu"));
  }
}

void fill_dtype(const ConfigFields& config, ModelShape& shape, std::vector<Error>& errors) {
  std::string text = config.dtype.value_or(config.torch_dtype.value_or("float32"));
  if (text.starts_with("torch.")) text.erase(0, 6);
  if (text == "float32")
    shape.dtype = "fp32";
  else if (text == "bfloat16")
    shape.dtype = "bf16";
  else if (text == "float16")
    shape.dtype = "fp16";
  else
    errors.push_back(unsupported(config.dtype ? "dtype" : "torch_dtype",
                                 "\"" + quote_input(text, 40) + "\" is not supported",
                                 "supported: float32, bfloat16, float16"));
}

void fill_rope(const ConfigFields& config, ModelShape& shape, std::vector<Error>& errors) {
  const bool newer = config.rope_parameters.rope_type || config.rope_parameters.rope_theta;
  const std::string place = newer ? "rope_parameters" : "rope_scaling";
  const RopeFields& rope = newer ? config.rope_parameters : config.rope_scaling;
  auto& scaling = shape.rope_scaling;
  shape.rope_theta = rope.rope_theta.value_or(config.rope_theta);
  scaling.type = rope.rope_type.value_or(rope.type.value_or("default"));
  scaling.factor = rope.factor.value_or(1);
  scaling.low_freq_factor = rope.low_freq_factor.value_or(1);
  scaling.high_freq_factor = rope.high_freq_factor.value_or(4);
  scaling.original_max_positions = rope.original_max_position_embeddings.value_or(config.max_position_embeddings);
  if (scaling.type != "default" && scaling.type != "linear" && scaling.type != "llama3") {
    errors.push_back(unsupported(place + ".rope_type", "\"" + quote_input(scaling.type, 40) + "\" is not supported",
                                 "supported: default, linear, llama3"));
  }
  if (scaling.type == "llama3" && scaling.low_freq_factor >= scaling.high_freq_factor) {
    errors.push_back(invalid_argument(place + ".low_freq_factor", "must be below high_freq_factor"));
  }
}

// The engine has one window for all layers.
void fill_window(const ConfigFields& config, const Json& json, const Family& family, ModelShape& shape,
                 std::vector<Error>& errors) {
  if (family.default_window == 0 || (family.window_is_switched && !config.use_sliding_window)) return;
  // null means none; left out, the family's default.
  const bool given = json.contains("sliding_window");
  const long long window = given ? config.sliding_window.value_or(0) : family.default_window;
  if (window == 0) return;
  bool first = true, all = true;
  if (!config.layer_types.empty()) {
    const auto sliding = std::count(config.layer_types.begin(), config.layer_types.end(), "sliding_attention");
    first = sliding > 0, all = sliding == static_cast<std::ptrdiff_t>(config.layer_types.size());
  } else if (family.window_is_switched) {
    const long long from = config.max_window_layers.value_or(28);
    first = from < config.num_hidden_layers, all = from == 0;
  }
  if (first && !all) {
    errors.push_back(unsupported(config.layer_types.empty() ? "max_window_layers" : "layer_types",
                                 "some layers with a sliding window and some without are not supported",
                                 "supported: the same attention in all layers"));
  } else if (first) {
    shape.sliding_window = window;
  }
}

void fill_heads(const ConfigFields& config, const Family& family, ModelShape& shape, std::vector<Error>& errors) {
  shape.heads = config.num_attention_heads;
  shape.kv_heads = config.num_key_value_heads.value_or(shape.heads);
  const auto head_dim = config.head_dim ? config.head_dim : family.head_dim;
  shape.head_dim = head_dim.value_or(config.hidden_size / shape.heads);
  if (!head_dim && config.hidden_size % shape.heads != 0) {
    errors.push_back(invalid_argument(
        "num_attention_heads",
        std::to_string(shape.heads) + " does not divide hidden_size " + std::to_string(config.hidden_size),
        "give head_dim, or use a divisor"));
  } else if (shape.head_dim % 2 != 0) {
    errors.push_back(
        invalid_argument("head_dim", std::to_string(shape.head_dim) + " is odd", "RoPE needs an even width"));
  }
  if (shape.heads % shape.kv_heads != 0) {
    errors.push_back(invalid_argument(
        "num_key_value_heads",
        std::to_string(shape.kv_heads) + " does not divide num_attention_heads " + std::to_string(shape.heads),
        "each key head serves the same number of query heads"));
  }
}

}  // namespace

const std::vector<std::string>& supported_architectures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& family : kFamilies) out.push_back(family.architecture);
    return out;
  }();
  return names;
}

std::int64_t ParameterShape::count() const {
  std::int64_t product = 1;
  for (const auto size : shape) product *= size;
  return product;
}

Result<ModelShape> read_model_shape(const Json& config) {
  ReadLog log;
  ConfigFields fields;
  // Another architecture's fields would only produce misleading errors: it is checked first.
  if (config.is_object() && config.contains("architectures")) {
    ReadLog ignored;
    const Json only = {{"architectures", config["architectures"]}};
    config_fields().read(only, "", ignored, fields);
    std::vector<Error> errors;
    check_architecture(fields, errors);
    if (!errors.empty()) return errors.front();
    fields.architectures.clear();
  }
  config_fields().read(config, "", log, fields);
  if (!log.errors.empty()) return combine(std::move(log.errors));
  check_architecture(fields, log.errors);
  check_features(fields, log.errors);
  ModelShape shape;
  shape.architecture = fields.architectures.empty() ? "" : fields.architectures.front();
  shape.hidden = fields.hidden_size;
  shape.layers = fields.num_hidden_layers;
  shape.intermediate = fields.intermediate_size;
  shape.vocab = fields.vocab_size;
  shape.tied = fields.tie_word_embeddings;
  shape.rms_norm_eps = fields.rms_norm_eps;
  shape.max_positions = fields.max_position_embeddings;
  const Family& family = family_of(shape.architecture);
  shape.qkv_bias = family.qkv_bias, shape.qk_norm = family.qk_norm;
  fill_heads(fields, family, shape, log.errors);
  fill_window(fields, config, family, shape, log.errors);
  fill_dtype(fields, shape, log.errors);
  fill_rope(fields, shape, log.errors);
  if (!log.errors.empty()) return combine(std::move(log.errors));
  return shape;
}

Result<ModelShape> read_model_shape_text(std::string_view config_text) {
  const auto json = parse_json(config_text);
  if (!json) return json.error();
  return read_model_shape(*json);
}

std::vector<ParameterShape> parameters_of(const ModelShape& shape) {
  std::vector<ParameterShape> out;
  const auto h = shape.hidden, q = shape.heads * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
  out.push_back({"model.embed_tokens.weight", {shape.vocab, h}});
  for (long long i = 0; i < shape.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    out.push_back({layer + "input_layernorm.weight", {h}});
    out.push_back({layer + "self_attn.q_proj.weight", {q, h}});
    out.push_back({layer + "self_attn.k_proj.weight", {kv, h}});
    out.push_back({layer + "self_attn.v_proj.weight", {kv, h}});
    if (shape.qkv_bias) {
      out.push_back({layer + "self_attn.q_proj.bias", {q}});
      out.push_back({layer + "self_attn.k_proj.bias", {kv}});
      out.push_back({layer + "self_attn.v_proj.bias", {kv}});
    }
    out.push_back({layer + "self_attn.o_proj.weight", {h, q}});
    if (shape.qk_norm) {
      out.push_back({layer + "self_attn.q_norm.weight", {shape.head_dim}});
      out.push_back({layer + "self_attn.k_norm.weight", {shape.head_dim}});
    }
    out.push_back({layer + "post_attention_layernorm.weight", {h}});
    out.push_back({layer + "mlp.gate_proj.weight", {shape.intermediate, h}});
    out.push_back({layer + "mlp.up_proj.weight", {shape.intermediate, h}});
    out.push_back({layer + "mlp.down_proj.weight", {h, shape.intermediate}});
  }
  out.push_back({"model.norm.weight", {h}});
  if (!shape.tied) out.push_back({"lm_head.weight", {shape.vocab, h}});
  return out;
}

std::int64_t parameter_count(const ModelShape& shape) {
  std::int64_t total = 0;
  for (const auto& parameter : parameters_of(shape)) total += parameter.count();
  return total;
}

}  // namespace fx
