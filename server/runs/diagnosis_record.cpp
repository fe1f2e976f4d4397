#include "server/runs/diagnosis_record.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tools/run_diagnosis.h"
#include "tools/run_folder.h"

namespace fx::server {

std::string record_diagnosis(const std::filesystem::path& folder, int ranks) {
  const std::string json = to_text(to_json(tools::diagnose_run(folder, ranks)));
  const auto written = write_file_atomic(folder / tools::kDiagnosisFile, json + "\n");
  static_cast<void>(written);
  return json;
}

}  // namespace fx::server
