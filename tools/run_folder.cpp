#include "tools/run_folder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/process.h"

namespace fx::tools {
namespace {

constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::size_t kRecent = 5;
constexpr std::size_t kRateSteps = 10;

void add_step(RunEvents& out, StepEvent step, long long time_ms) {
  while (!out.steps.empty() && out.steps.back().step >= step.step) {
    out.steps.pop_back();
    out.step_times_ms.pop_back();
  }
  out.steps.push_back(std::move(step));
  out.step_times_ms.push_back(time_ms);
}

struct Collector {
  RunEvents& out;
  long long time_ms;
  void operator()(const StartEvent& start) const {
    out.start = start;
    out.finish.reset();
    out.errors.clear();
  }
  void operator()(const StepEvent& step) const { add_step(out, step, time_ms); }
  void operator()(const CheckpointEvent& checkpoint) const { out.checkpoints.push_back(checkpoint); }
  void operator()(const FinishEvent& finish) const { out.finish = finish; }
  void operator()(const ErrorEvent& error) const { out.errors.push_back(error); }
};

// The whole file, or its first lines and its last ones.
std::string head_and_tail(const std::filesystem::path& file, std::size_t tail_bytes) {
  std::error_code code;
  const auto size = std::filesystem::file_size(file, code);
  if (code) return {};
  auto tail = read_tail(file, tail_bytes);
  if (!tail) return {};
  if (size <= tail_bytes) return std::move(*tail);
  std::ifstream stream(file, std::ios::binary);
  std::string head(std::min<std::size_t>(kHeadBytes, size - tail_bytes), '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  head.resize(head.rfind('\n') + 1);
  return head + *tail;
}

}  // namespace

std::string rank_log_name(int rank) {
  return "rank_" + std::to_string(rank) + ".log";
}

bool RankProcess::alive() const {
  return ending.empty() && pid > 0 && process_birth(static_cast<pid_t>(pid)) == birth;
}

std::vector<RankProcess> read_ranks(const std::filesystem::path& folder) {
  std::vector<RankProcess> ranks;
  const auto text = read_file(folder / kRanksFile);
  const auto json = text ? parse_json(*text) : Result<Json>(text.error());
  if (!json || !json->is_array()) return ranks;
  for (const auto& row : *json) {
    if (!row.is_object() || !row.contains("rank") || !row["rank"].is_number_integer()) continue;
    RankProcess rank;
    rank.rank = row["rank"].get<int>();
    if (row.contains("pid") && row["pid"].is_number_integer()) rank.pid = row["pid"].get<long long>();
    if (row.contains("birth") && row["birth"].is_string()) rank.birth = row["birth"].get<std::string>();
    if (row.contains("ending") && row["ending"].is_string()) rank.ending = row["ending"].get<std::string>();
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

Result<void> write_ranks(const std::filesystem::path& folder, const std::vector<RankProcess>& ranks) {
  Json json = Json::array();
  for (const auto& rank : ranks) {
    json.push_back({{"rank", rank.rank}, {"pid", rank.pid}, {"birth", rank.birth}, {"ending", rank.ending}});
  }
  return write_file_atomic(folder / kRanksFile, to_text(json) + "\n");
}

RunEvents read_run_events(const std::filesystem::path& folder, std::size_t tail_bytes) {
  RunEvents out;
  EventBatch batch = read_events(head_and_tail(folder / kEventsFile, tail_bytes));
  out.skipped = batch.skipped;
  for (const auto& event : batch.events) std::visit(Collector{out, event.time_ms}, event.body);
  const std::size_t first = batch.events.size() - std::min(batch.events.size(), kRecent);
  for (std::size_t i = first; i < batch.events.size(); ++i) out.recent.push_back(std::move(batch.events[i]));
  return out;
}

Progress progress_of(const RunEvents& events) {
  Progress out;
  if (events.start) {
    out.steps = events.start->steps;
    out.step = events.start->first_step;
  }
  if (events.steps.empty()) return out;
  out.step = events.steps.back().step;
  const std::size_t count = events.steps.size();
  const std::size_t first = count - std::min(count, kRateSteps);
  double tokens = 0, seconds = 0;
  for (std::size_t i = first; i < count; ++i) {
    const StepEvent& step = events.steps[i];
    if (step.tokens_per_s <= 0) continue;
    tokens += static_cast<double>(step.tokens);
    seconds += static_cast<double>(step.tokens) / step.tokens_per_s;
  }
  if (seconds > 0) out.tokens_per_s = tokens / seconds;
  // Between events: contains checkpoints and everything else that a step's own rate leaves out.
  if (count - first > 1) {
    const auto span = events.step_times_ms[count - 1] - events.step_times_ms[first];
    const auto steps = events.steps[count - 1].step - events.steps[first].step;
    if (span > 0 && steps > 0) out.step_s = static_cast<double>(span) / 1000.0 / static_cast<double>(steps);
  } else {
    out.step_s = seconds;
  }
  if (out.step_s > 0 && out.steps >= out.step) out.eta_s = out.step_s * static_cast<double>(out.steps - out.step);
  return out;
}

}  // namespace fx::tools
