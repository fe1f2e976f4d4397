// Diagnoses a failed run and keeps the answer in its folder.
#pragma once

#include <filesystem>
#include <string>

namespace fx::server {

// JSON text of the Diagnosis, also written to diagnosis.json (a full disk is no error: the store gets the text too).
std::string record_diagnosis(const std::filesystem::path& folder, int ranks);

}  // namespace fx::server
