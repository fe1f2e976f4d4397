// The shape of a decoder model (Llama, Mistral, Qwen2, Qwen3), read from a Hugging Face config.json: sizes, and the
// exact list of its parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/json.h"

namespace fx {

struct RopeScaling {
  std::string type = "default";  // default (none), linear, llama3
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3 only
  long long original_max_positions = 8192;           // llama3 only
};

struct ModelShape {
  std::string architecture;  // LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM
  long long hidden = 0;
  long long layers = 0;
  long long heads = 0;     // query heads
  long long kv_heads = 0;  // divides heads
  long long head_dim = 0;  // even; heads * head_dim may differ from hidden
  long long intermediate = 0;
  long long vocab = 0;
  bool tied = false;             // lm_head shares embed_tokens' weight, and has no parameter of its own
  bool qkv_bias = false;         // biases of the query, key and value projections
  bool qk_norm = false;          // RMSNorm over each head's queries and keys
  long long sliding_window = 0;  // positions that a position sees, itself included; 0: all before it
  double rope_theta = 10000;
  RopeScaling rope_scaling;
  double rms_norm_eps = 1e-6;
  std::string dtype = "fp32";  // fp32, bf16, fp16: what config.json says the files hold
  long long max_positions = 2048;
};

struct ParameterShape {
  std::string name;                 // Hugging Face naming, "model.layers.0.mlp.up_proj.weight"
  std::vector<std::int64_t> shape;  // row-major; dim 0 first
  std::int64_t count() const;       // elements
};

// Architectures this build can train.
const std::vector<std::string>& supported_architectures();

// From config.json's fields. Every mistake at once, each with its field; kUnsupported (with the supported ones) for an
// architecture or a feature (biases, other activations, other RoPE kinds) that the engine would get silently wrong.
Result<ModelShape> read_model_shape(const Json& config);
Result<ModelShape> read_model_shape_text(std::string_view config_text);

// In the order of the forward pass: embedding, layers, final norm, head when not tied.
std::vector<ParameterShape> parameters_of(const ModelShape& shape);
std::int64_t parameter_count(const ModelShape& shape);

// The head_dim / 2 inverse frequencies of RoPE, with rope_scaling applied: use these, not rope_theta alone.
std::vector<double> rope_inverse_frequencies(const ModelShape& shape);

}  // namespace fx
