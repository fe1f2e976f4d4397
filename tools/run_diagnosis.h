// The diagnosis of a failed run, from everything its folder says.
#pragma once

#include <filesystem>

#include "spec/diagnosis.h"

namespace fx::tools {

// Reads a bounded part of the supervisor's, the tokenizer's and the ranks' logs and of the events.
Diagnosis diagnose_run(const std::filesystem::path& folder, int ranks);

}  // namespace fx::tools
