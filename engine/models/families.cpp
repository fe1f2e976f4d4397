// The list of model families.
#include <stdexcept>

#include "engine/models/llama/llama.h"
#include "engine/models/mistral/mistral.h"
#include "engine/models/qwen2/qwen2.h"
#include "engine/models/qwen3/qwen3.h"

namespace fx::engine {

std::unique_ptr<Model> make_model(const ModelShape& shape) {
  if (shape.architecture == "LlamaForCausalLM") return std::make_unique<Llama>(shape);
  if (shape.architecture == "MistralForCausalLM") return std::make_unique<Mistral>(shape);
  if (shape.architecture == "Qwen2ForCausalLM") return std::make_unique<Qwen2>(shape);
  if (shape.architecture == "Qwen3ForCausalLM") return std::make_unique<Qwen3>(shape);
  throw std::logic_error("no family for architecture " + shape.architecture);
}

}  // namespace fx::engine
