// `fsdp-engine logits` and `gradients`: what the model makes of given tokens, to compare with another implementation.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace fx::engine {

// tokens_file: JSON list of token ids (one document). Writes a safetensors file with the tensor "logits", fp32 [T,
// vocab].
Result<void> write_logits(const std::filesystem::path& model, const std::filesystem::path& tokens_file,
                          const std::filesystem::path& output);

// The gradients of the mean loss of predicting each next token: one fp32 tensor a parameter, under its name.
Result<void> write_gradients(const std::filesystem::path& model, const std::filesystem::path& tokens_file,
                             const std::filesystem::path& output);

}  // namespace fx::engine
