// The steps of saving a checkpoint, for those who save at once and those who save in the background.
#pragma once

#include <array>
#include <filesystem>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "engine/files/safetensors.h"

namespace fx::engine {

// Of each group: master weights, exp_avg, exp_avg_sq; undefined in a group where nothing is trained.
using StateTensors = std::vector<std::array<at::Tensor, 3>>;
StateTensors state_of(Groups& groups, AdamW& optimizer);
// The file that all ranks write together; the same on each.
SafetensorsHeader plan_state(Groups& groups);
std::int64_t bytes_of(const SafetensorsHeader& header);

std::filesystem::path checkpoint_folder(const std::filesystem::path& root, long long step);
// One rank: the folder with the preallocated file. What was there of that step is removed.
Result<void> begin_checkpoint(const std::filesystem::path& folder, const SafetensorsHeader& header);
// This rank's rows, on disk when it returns. May run beside anything that leaves `state` alone.
Result<void> write_state(const std::filesystem::path& folder, const SafetensorsHeader& header, Groups& groups,
                         const StateTensors& state);
Result<void> read_state(const std::filesystem::path& folder, Groups& groups, const StateTensors& state);
// One rank, when all have written: from now on the folder counts. All but the newest `keep` are removed (0: all stay).
Result<void> commit_checkpoint(const std::filesystem::path& root, long long step, long long keep);

}  // namespace fx::engine
