#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/step_time.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// A share of a quarter or more in the same part of the line as the word for data.
bool large_share(std::string_view low) {
  const bool table = std::count(low.begin(), low.end(), '|') >= 2;  // a row of a profile, its name in front
  for (auto sign = low.find('%'); sign != std::string_view::npos; sign = low.find('%', sign + 1)) {
    const auto part = low.find_last_of(table ? ";" : ";,|", sign);
    const auto from = part == std::string_view::npos ? 0 : part + 1;
    const auto last = low.find_last_not_of(' ', sign == 0 ? 0 : sign - 1);
    const auto before = low.find_last_not_of("0123456789.", last);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto share = number_after(low.substr(begin, sign - begin), "");
    const auto end = low.find_first_of(table ? ";" : ";,|", sign);
    if (share && *share >= 25 &&
        matches_any("data|loader", low.substr(from, end == std::string_view::npos ? end : end - from)))
      return true;
  }
  return false;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const bool failed = stopped(s);
  if (failed || !m("data")) return {};
  std::vector<int> proof = share_of(s, TimeKind::kData).lines;
  for (const int line : m("data").lines) {
    const auto& low = s.book.at(line).low;
    double wait = -1;
    for (const std::string_view key :
         {"data_wait", "data_time:", "data_time", "data time:", "data time", "data wait:", "data wait",
          "loader wait:", "loader wait", "loader_wait", "data_load", "fetch_time", "data:", "dataloading"}) {
      const auto at = low.find(key);
      if (at == std::string::npos || wait >= 0) continue;
      auto from = at + key.size();
      while (from < low.size() && (low[from] == ':' || low[from] == '=' || low[from] == ' ')) ++from;
      wait = number_after(std::string_view(low).substr(from), "").value_or(-1);
    }
    double whole = -1;
    for (const std::string_view key :
         {"step_time", "step time", "iter_time", "batch_time", "time:", "compute", "forward"}) {
      const auto at = low.find(key);
      if (at == std::string::npos || (at > 5 && low.compare(at - 5, 5, "data_") == 0) || whole >= 0) continue;
      auto from = at + key.size();
      while (from < low.size() && (low[from] == ':' || low[from] == '=' || low[from] == ' ')) ++from;
      whole = number_after(std::string_view(low).substr(from), "").value_or(-1);
      if (key == "compute" || key == "forward") whole = whole < 0 ? whole : whole + std::max(0.0, wait);
    }
    const bool percent = wait != 0 && matches_any("data*% of|dataloader*%", low) && large_share(low);
    const bool long_wait = wait >= 2 && whole > 0 && wait > 0.2 * whole;
    if ((wait > 0 && whole > 0 && wait > 0.4 * whole) || long_wait || percent ||
        matches_any(
            "waiting for data|waits for data|data starv|gpu*idle*data|idle*next(|gap*next(|wait*next(|blocked*next(|idle*loader|stall*loader|wait*loader|next(*% of|loader*% of",
            low))
      proof.push_back(line);
  }
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
