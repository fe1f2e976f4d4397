// The adapters of a run: where they come from, and where they go.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/checkpoint/weights.h"
#include "spec/lora_spec.h"

namespace fx::engine {

// Fills this rank's rows of the adapters: from lora.adapter, or new ones as PEFT begins, A uniform within
// 1 / sqrt(in) and B zero. Random numbers depend on seed, name and place only, not on ranks.
Result<void> load_adapters(const ModelShape& shape, const LoraSpec& lora, std::uint64_t seed, Groups& groups);

// Collective, as save_together(): the adapters as a PEFT folder.
Result<void> save_adapters(const HfFolder& base, const LoraSpec& lora, Groups& groups, Mesh& mesh,
                           const std::filesystem::path& output);

}  // namespace fx::engine
