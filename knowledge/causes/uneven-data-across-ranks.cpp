#include <algorithm>
#include <map>
#include <set>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

// True when the ranks' own progress lines end at different steps.
bool reached_apart(const Scene& s) {
  std::map<int, long long> last;
  for (const auto& step : s.steps) {
    if (step.rank >= 0 && step.step >= 0) last[step.rank] = std::max(last[step.rank], step.step);
  }
  std::set<long long> reached;
  for (const auto& [rank, step] : last) reached.insert(step);
  return reached.size() > 1;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const Stall stall = find_stall(s);
  Claim out;
  if (!stall.any || !stall.guards.empty()) return out;
  std::vector<int> data;
  for (const int line : m("data").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any("watchdog|processgroup|file \"|pixel|image|vision|text-only", low)) continue;
    data.push_back(line);
  }
  const auto counts = differing_counts(s.book, data);
  const auto speaking = s.book.ranks_of(data);
  const bool odd_rank = !s.desync.behind.empty() || s.desync.absent.size() == 1;
  const bool apart = reached_apart(s);
  if (!counts.empty()) {
    out.score = 0.9;
  } else if (!data.empty() && odd_rank && !speaking.empty()) {
    out.score = 0.88;
  } else if (!data.empty() && (speaking.size() == 1 || apart)) {
    out.score = 0.8;
  } else if (!data.empty() && s.book.mentions("stopiteration|drop_last|uneven|exhausted")) {
    out.score = 0.7;
  } else if (!s.desync.behind.empty() && data.empty()) {
    out.score = 0.46;
  }
  if (out.score == 0) return out;
  if (!s.exceptions.empty() && counts.empty() && !s.book.mentions("stopiteration")) {
    const bool real = std::any_of(s.exceptions.begin(), s.exceptions.end(), [&](const ExceptionEvent& exception) {
      return exception.line < stall.first &&
             !matches_any("childfailed|distbackend|timeout|stopiteration", s.book.at(exception.line).low);
    });
    if (real) out.score = 0.4;
  }
  for (const int line : counts) {
    if (out.lines.size() < 4) out.show(line);
  }
  for (const int line : data) {
    if (out.lines.size() < 4) out.show(line);
  }
  for (const int line : s.desync.lines) {
    if (out.lines.size() < 7) out.show(line);
  }
  if (const int suspect = s.desync.suspect(); suspect >= 0) return out.root(suspect);
  return out.root(counts.empty() && speaking.size() == 1 ? std::optional<int>(*speaking.begin()) : std::nullopt);
}

}  // namespace

CauseRule uneven_data_across_ranks() {
  return {"uneven-data-across-ranks",
          {{"data",
            "skip*sample|skipping*sample|skip*batch|drop*sample|dropped*batch|stopiteration"
            "|len(dataloader)|dataloader*len|num batches|number of batches|num_batches"
            "|steps per epoch|steps_per_epoch|uneven|exhausted|no more data|drop_last|empty batch"
            "|ran out of|batches left|samples per rank|micro-batches|microbatches|accumulation steps"
            "|num_microbatch|end of epoch|finished epoch|epoch*finished|epoch*done|shard*samples"
            "|local samples|dataset*samples|remaining*batch|dataloader*batches|last batch"
            "|iterabledataset|split_dataset|batches"}},
          evaluate};
}

}  // namespace fx::knowledge
