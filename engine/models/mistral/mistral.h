// The Mistral family: Llama whose positions see only the last sliding_window positions of their document.
#pragma once

#include "engine/models/llama/llama.h"

namespace fx::engine {

class Mistral : public Llama {
 public:
  explicit Mistral(const ModelShape& shape) : Llama(shape) {}
};

}  // namespace fx::engine
