// LoRA: small trained matrices beside frozen weights. weight + alpha / rank * B A, with A [rank, in] and B [out, rank].
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "spec/model_shape.h"

namespace fx {

template <class T>
class Fields;

struct LoraSpec {
  long long rank = 16;
  double alpha = 0;                                          // parse_run_spec() replaces 0 by 2 * rank
  std::vector<std::string> target_modules = {"all-linear"};  // projections of every block, or all seven of them
  double dropout = 0;                                        // of each adapter's input, in training only
  std::string adapter;                                       // PEFT folder to go on from; empty: A random, B zero
  double scale() const { return alpha / static_cast<double>(rank); }
};

const Fields<LoraSpec>& lora_fields();
// What one field's check cannot see. Appends to errors.
void check_lora(const LoraSpec& lora, std::vector<Error>& errors);

// The projections meant: "all-linear" spelled out, in the order of the forward pass, each once.
std::vector<std::string> adapted_modules(const LoraSpec& lora);

// One adapted weight and its two matrices, named as in PEFT's files.
struct AdapterShape {
  std::string weight;  // "model.layers.0.self_attn.q_proj.weight"
  ParameterShape a,
      b;  // "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" [rank, in], lora_B [out, rank]
};
// In the order of parameters_of(shape).
std::vector<AdapterShape> adapters_of(const ModelShape& shape, const LoraSpec& lora);
std::int64_t adapter_parameter_count(const ModelShape& shape, const LoraSpec& lora);

}  // namespace fx
