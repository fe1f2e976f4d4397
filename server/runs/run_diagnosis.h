// The diagnosis of a failed run, from everything its folder says.
#pragma once

#include <filesystem>
#include <string>

namespace fx::server {

// JSON text of the Diagnosis, also written to diagnosis.json. Reads a bounded part of the logs.
std::string diagnose_run(const std::filesystem::path& folder, int ranks);

}  // namespace fx::server
