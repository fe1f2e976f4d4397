// `validate --fix` and `validate --diff`: what the mechanical fixes make of a file.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "knowledge/formats/context.h"

namespace fx::server {

// Writes the fixed text in place, as one step; links are followed and the mode is kept. True when there was something
// to fix. Credentials stay: only their owner can move them.
Result<bool> fix_in_place(const std::filesystem::path& file, const knowledge::Context& context);
// What fix_in_place would change, as a unified diff with credentials masked; "" when nothing would.
Result<std::string> fix_diff(const std::filesystem::path& file, const knowledge::Context& context);

}  // namespace fx::server
