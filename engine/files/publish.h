// Making a finished folder visible in one step.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace fx::engine {

// Puts a finished staging folder (same file system) in place of final_folder: readers see the old folder or the new
// one, never a mixture. A folder that was there is removed afterwards.
Result<void> publish_folder(const std::filesystem::path& staging, const std::filesystem::path& final_folder);
// The same into a folder that holds other things too (checkpoints, logs): its files are replaced one by one by rename,
// weights before index and config, weights of the old model removed. The staging folder is gone afterwards.
Result<void> publish_files(const std::filesystem::path& staging, const std::filesystem::path& final_folder);

}  // namespace fx::engine
