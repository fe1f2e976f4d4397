#include "tools/run_diagnosis.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/file.h"
#include "knowledge/causes/diagnose.h"
#include "tools/run_folder.h"

namespace fx::tools {
namespace {

constexpr std::size_t kAllBytes = std::size_t{64} << 20;
constexpr std::size_t kEventBytes = 64 << 10;

}  // namespace

Diagnosis diagnose_run(const std::filesystem::path& folder, int ranks) {
  std::vector<std::string> names = {kSupervisorLog, kPrepareLog};
  for (int rank = 0; rank < ranks; ++rank) names.push_back(rank_log_name(rank));
  const std::size_t share = std::max<std::size_t>(kAllBytes / names.size(), 4096);
  names.push_back(kEventsFile);
  for (int rank = 0; rank < ranks; ++rank) names.push_back(flight_record_name(rank));
  std::deque<std::string> texts;  // keeps the texts in place: the logs only point at them
  std::vector<knowledge::NamedLog> logs;
  for (const auto& name : names) {
    auto text = read_tail(folder / name, name == kEventsFile ? kEventBytes : share);
    if (!text || text->empty()) continue;
    texts.push_back(std::move(*text));
    logs.push_back({name, texts.back()});
  }
  return knowledge::diagnose(logs);
}

}  // namespace fx::tools
