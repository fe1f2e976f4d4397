// `fsdp-engine logits`: the model's output for given tokens, to compare with another implementation.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace fx::engine {

// tokens_file: JSON list of token ids (one document). Writes a safetensors file with the tensor "logits", fp32 [T,
// vocab].
Result<void> write_logits(const std::filesystem::path& model, const std::filesystem::path& tokens_file,
                          const std::filesystem::path& output);

}  // namespace fx::engine
