#include "server/runs/run_diagnosis.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "knowledge/causes/diagnose.h"
#include "tools/run_folder.h"

namespace fx::server {
namespace {

constexpr std::size_t kAllBytes = std::size_t{64} << 20;
constexpr std::size_t kEventBytes = 64 << 10;

}  // namespace

std::string diagnose_run(const std::filesystem::path& folder, int ranks) {
  std::vector<std::string> names = {tools::kSupervisorLog, tools::kPrepareLog};
  for (int rank = 0; rank < ranks; ++rank) names.push_back(tools::rank_log_name(rank));
  const std::size_t share = std::max<std::size_t>(kAllBytes / names.size(), 4096);
  names.push_back(tools::kEventsFile);
  std::deque<std::string> texts;  // keeps the texts in place: the logs only point at them
  std::vector<knowledge::NamedLog> logs;
  for (const auto& name : names) {
    auto text = read_tail(folder / name, name == tools::kEventsFile ? kEventBytes : share);
    if (!text || text->empty()) continue;
    texts.push_back(std::move(*text));
    logs.push_back({name, texts.back()});
  }
  const std::string json = to_text(to_json(knowledge::diagnose(logs)));
  const auto written = write_file_atomic(folder / tools::kDiagnosisFile, json + "\n");
  static_cast<void>(written);  // the store has it too
  return json;
}

}  // namespace fx::server
