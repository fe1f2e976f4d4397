// Plans of text arguments, for tests.
#pragma once

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {

inline constexpr const char* kLlama8 =
    R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
  "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256})";
inline constexpr const char* kMistral =
    R"({"model_type":"mistral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
  "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000})";
inline constexpr const char* kSmol =
    R"({"model_type":"llama","hidden_size":576,"num_hidden_layers":30,"num_attention_heads":9,
  "num_key_value_heads":3,"intermediate_size":1536,"vocab_size":49152,"tie_word_embeddings":true})";

Json arguments(const char* model, const char* hardware, const char* training);
Result<Plan> try_plan(const Json& json);
// A mistake in the arguments fails the test.
Plan plan_of(const char* model, const char* hardware, const char* training);
// Bytes of one component of the peak; -1: no such component.
double share(const Plan& plan, const char* component);

}  // namespace fx::knowledge::plan
