// Training checkpoints: fp32 master weights and AdamW state in one safetensors file of whole tensors, so that a run
// saved on N ranks resumes on any number. Groups in which nothing is trained are left out. A folder counts only once
// its COMMITTED file is there, which is written last.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "engine/checkpoint/weights.h"
#include "engine/train/optimizer.h"

namespace fx::engine {

inline constexpr const char* kCommitMarker = "COMMITTED";

struct CheckpointInfo {
  std::filesystem::path folder;
  long long step = 0;  // optimizer steps done
};

// <output>/checkpoints/step_0000042
std::filesystem::path checkpoint_root(const std::filesystem::path& output);
// Newest first.
std::vector<CheckpointInfo> complete_checkpoints(const std::filesystem::path& root);
// The newest complete one; half-written ones are skipped.
std::optional<CheckpointInfo> newest_checkpoint(const std::filesystem::path& root);

// Collective. Bytes of the file on success; then all but the newest `keep` complete ones are removed (0: all stay).
Result<std::int64_t> save_checkpoint(const std::filesystem::path& root, long long step, long long keep, Groups& groups,
                                     AdamW& optimizer, Mesh& mesh);
// Collective. Errors name the parameter whose shape differs.
Result<void> load_checkpoint(const CheckpointInfo& checkpoint, Groups& groups, AdamW& optimizer, Mesh& mesh);

}  // namespace fx::engine
