#include <algorithm>
#include <set>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

// A progress bar of this writer that came to its end further down.
bool bar_ended(const Scene& s, const Hits& bars, int line) {
  const auto label = [&](int of) {
    const auto body = s.book.at(of).low_body();
    return body.substr(0, body.find(':'));
  };
  if (s.book.at(line).low.find('%') == std::string::npos) return false;
  return std::any_of(bars.lines.begin(), bars.lines.end(), [&](int end) {
    return end > line && s.book.at(end).stream == s.book.at(line).stream && label(end) == label(line) &&
           s.book.at(end).low.find("100%") != std::string::npos;
  });
}

// The one worker whose bar goes on while another's has come to its end.
std::optional<int> still_working(const Scene& s, const Hits& bars, const std::vector<int>& work) {
  std::set<int> working, ended;
  for (const int line : work) working.insert(s.book.at(line).head.local_rank);
  for (const int line : bars.lines) {
    if (s.book.at(line).low.find("100%") != std::string::npos) ended.insert(s.book.at(line).head.local_rank);
  }
  const bool one = working.size() == 1 && *working.begin() >= 0 && !ended.empty() && *ended.begin() >= 0 &&
                   ended.count(*working.begin()) == 0;
  return one ? std::optional<int>(*working.begin()) : std::nullopt;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const Stall stall = find_stall(s);
  Claim out;
  if (!stall.any || !m("prepare")) return out;
  std::vector<int> work;
  for (const int line : m("prepare").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any("watchdog|checkpoint shards|compute log prob|generate", low)) continue;
    if (matches_any("100%|done|finished|complete", low) && !matches_any("main_process_first", low)) continue;
    work.push_back(line);
  }
  work.erase(std::remove_if(work.begin(), work.end(), [&](int line) { return bar_ended(s, m("prepare"), line); }),
             work.end());
  if (work.empty()) return out;
  const bool stepped = s.stepped_before(stall.first);
  const bool first_process = s.book.mentions("main_process_first|zero_first|if*main*preproc");
  out.score = stepped ? 0.5 : first_process || m("barrier") ? 0.92 : 0.84;
  if (!stall.guards.empty() && !first_process) out.score = 0.5;
  for (const int line : work) {
    if (out.lines.size() < 4) out.show(line);
  }
  for (std::size_t i = 0; i < stall.signs.size() && i < 2; ++i) out.show(stall.signs[i]);
  if (const auto slow = still_working(s, m("prepare"), work)) return out.root(*slow);
  const auto ranks = s.book.ranks_of(work);
  const bool waits_for_zero =
      first_process || s.book.mentions("from [0]|from rank 0|check rank 0 logs for faulty rank|retrieving ncclunique");
  if (ranks.size() == 1 && !waits_for_zero) return out.root(*ranks.begin());
  const bool main_works = !s.desync.timed_out.empty() && s.desync.timed_out.count(0) == 0;
  return out.root(waits_for_zero || main_works || (ranks.size() == 1 && *ranks.begin() == 0) ? std::optional<int>(0)
                                                                                             : std::nullopt);
}

}  // namespace

CauseRule slow_preprocessing_timeout() {
  return {"slow-preprocessing-timeout",
          {{"prepare",
            "preparing*set|running tokenizer|tokenizing|tokenising|tokenization|map:|map (|preprocess"
            "|main_process_first|local_main_process_first|generating*split|packing*dataset|filter:"
            "|filter (|building dataset|examples/s|indexing|prepare_data|build*index|building*index"
            "|loading dataset|caching|grouping texts|casting the dataset|saving the dataset"
            "|zero_first|prepare dataset|extracting|creating json|computing*lengths|index_cache"
            "|index map|shuffle indices|building*sample"},
           {"barrier", "main_process_first|barrier()|socket timeout|wait timeout|ncclunique|store->get"}},
          evaluate};
}

}  // namespace fx::knowledge
