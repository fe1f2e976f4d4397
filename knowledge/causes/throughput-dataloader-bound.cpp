#include <algorithm>
#include <optional>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/step_time.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// The largest share that a line states in the same part as a word for data, if it states one.
std::optional<double> data_share(std::string_view low) {
  std::optional<double> out;
  const bool table = std::count(low.begin(), low.end(), '|') >= 2;  // a row of a profile, its name in front
  for (auto sign = low.find('%'); sign != std::string_view::npos; sign = low.find('%', sign + 1)) {
    if (is_bar(low, sign)) continue;
    const auto part = low.find_last_of(table ? ";" : ";,|", sign);
    const auto from = part == std::string_view::npos ? 0 : part + 1;
    const auto last = low.find_last_not_of(' ', sign == 0 ? 0 : sign - 1);
    const auto before = low.find_last_not_of("0123456789.", last);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto share = number_after(low.substr(begin, sign - begin), "");
    const auto end = low.find_first_of(table ? ";" : ";,|", sign);
    if (share && matches_any("data|loader", low.substr(from, end == std::string_view::npos ? end : end - from)))
      out = std::max(out.value_or(0), *share);
  }
  return out;
}

bool large_share(std::string_view low) {
  return data_share(low).value_or(0) >= 25;
}

// Who states how little the wait is does not complain of it.
bool small_share(std::string_view low) {
  const auto share = data_share(low);
  return share && *share < 25 && !matches_any("util|idle|busy", low);
}

std::optional<double> value_at(std::string_view low, std::size_t from) {
  while (from < low.size() && (low[from] == ':' || low[from] == '=' || low[from] == ' ')) ++from;
  return number_after(low.substr(from), "");
}

double wait_of(std::string_view low) {
  for (const std::string_view key :
       {"data_wait", "data_time:", "data_time", "data time:", "data time", "data wait:", "data wait",
        "loader wait:", "loader wait", "loader_wait", "data (t)", "data_load", "fetch_time", "data:", "dataloading"}) {
    const auto at = low.find(key);
    const auto value = at == std::string_view::npos ? std::nullopt : value_at(low, at + key.size());
    if (value.value_or(-1) >= 0) return *value;
  }
  return -1;
}

double step_of(std::string_view low, double wait) {
  for (const std::string_view key :
       {"step_time", "step time", "batch (t)", "iter_time", "batch_time", "time:", "compute", "forward"}) {
    const auto at = low.find(key);
    if (at == std::string_view::npos || (at > 5 && low.compare(at - 5, 5, "data_") == 0)) continue;
    const auto value = value_at(low, at + key.size());
    if (value.value_or(-1) < 0) continue;
    return key == "compute" || key == "forward" ? *value + std::max(0.0, wait) : *value;
  }
  return -1;
}

bool complains(std::string_view low) {
  const double wait = wait_of(low), whole = step_of(low, wait);
  const bool percent = wait != 0 && matches_any("data*% of|dataloader*%", low) && large_share(low);
  const bool long_wait = wait >= 2 && whole > 0 && wait > 0.2 * whole;
  if ((wait > 0 && whole > 0 && wait > 0.4 * whole) || long_wait || percent) return true;
  return !small_share(low) &&
         matches_any(
             "waiting for data|waits for data|data starv|gpu*idle*data|idle*next(|gap*next(|wait*next(|blocked*next(|idle*loader|stall*loader|wait*loader|next(*% of|loader*% of|% of*dataloader|% of*__next__|% in*dataloader|% in*next(",
             low);
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const bool failed = stopped(s);
  if (failed || !m("data")) return {};
  std::vector<int> proof = share_of(s, TimeKind::kData).lines;
  std::vector<int> waits;
  std::size_t measured = 0;
  for (const int line : m("data").lines) {
    measured += wait_of(s.book.at(line).low) >= 0;
    if (complains(s.book.at(line).low)) waits.push_back(line);
  }
  // The first batch waits for the workers to start.
  if (waits.size() == 1 && measured >= 3) waits.clear();
  proof.insert(proof.end(), waits.begin(), waits.end());
  if (proof.empty()) return {};
  Claim out;
  out.score = m("sign") ? 0.9 : 0.82;
  out.show(proof.front()).show(proof.back()).show(proof[proof.size() / 2]);
  for (const int line : proof) {
    if (out.lines.size() < 5) out.show(line);
  }
  return out.show(m("sign"), 3);
}

}  // namespace

CauseRule throughput_dataloader_bound() {
  return {
      "throughput-dataloader-bound",
      {{"data",
        "t_fetch|t_load|t_data|, load |load=|compute*load|load*compute|batch wait|input stall|data |__next__|data_wait|data_time|data time|data wait|dataloader|data load|data_load|loader wait"
        "|batch fetch|fetch_time|input wait|dataloading|data: |batch-gen|batch_gen|get_batch|next("},
       {"sign", "num_workers|decode|iostat|nfs|prefetch|gpu util|util|i/o|read mb/s|cpu util|mb/s|iowait"}},
      evaluate};
}

}  // namespace fx::knowledge
