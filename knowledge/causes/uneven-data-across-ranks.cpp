#include <algorithm>
#include <map>
#include <set>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"
#include "knowledge/log/field_reader.h"

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

// The one rank whose own lines stop at an earlier step than all the others'; -1 if there is none.
int rank_left_behind(const Scene& s, int stalled) {
  std::map<int, long long> last;
  for (const int line : s.book.find("core", "step").lines) {
    const auto& row = s.book.at(line);
    if (row.rank < 0 || line > stalled || matches_any("watchdog|processgroup|error|file \"", row.low)) continue;
    for (const std::string_view key : {"step ", "step: ", "step:", "step=", "iter ", "batch "}) {
      if (const auto step = integer_after(row.low_body(), key)) {
        last[row.rank] = std::max(last[row.rank], *step);
        break;
      }
    }
  }
  if (last.size() < 3) return -1;
  int odd = -1;
  long long most = 0;
  for (const auto& [rank, step] : last) most = std::max(most, step);
  for (const auto& [rank, step] : last) {
    if (step == most) continue;
    if (odd >= 0) return -1;
    odd = rank;
  }
  return odd;
}

void show_data(const Scene& s, const CountSplit& counts, const std::vector<int>& data, Claim& out) {
  for (std::size_t i = 0; i < counts.lines.size() && i < 3; ++i) out.show(counts.lines[i]);
  if (counts.lines.size() > 3) out.show(counts.lines.back());
  // A rank's own words prove more than what nobody in particular says.
  for (const bool named : {true, false}) {
    for (const int line : data) {
      if ((s.book.at(line).rank >= 0) == named && out.lines.size() < 5) out.show(line);
    }
  }
}

// What the ranks say about their data before the stall.
struct DataTalk {
  std::vector<int> lines;
  std::vector<int> ran_out;  // of those: no more data, or already at the next thing
  CountSplit counts;
  std::set<int> speaking;
  std::set<int> dry;  // ranks that ran out
};

DataTalk read_talk(const Scene& s, const MarkView& m) {
  DataTalk out;
  for (const int line : m("data").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any(
            "watchdog|processgroup|file \"|samples/s|samples per s|per_second|pixel|image|vision|text-only|drop_last=|drop_last:|drop_last .",
            low))
      continue;
    out.lines.push_back(line);
    if (matches_any(
            "exhausted|empty|stopiteration|no more|ran out|end of data|finished|leaving|start of validation|starting validation|validate epoch|val, rank|done, * batches|done after * batches|completed * batches",
            low))
      out.ran_out.push_back(line);
  }
  out.counts = differing_counts(s.book, out.lines);
  out.speaking = s.book.ranks_of(out.lines);
  out.dry = s.book.ranks_of(out.ran_out);
  return out;
}

double weigh_talk(const Scene& s, const DataTalk& data, int left) {
  const bool odd_rank = !s.desync.behind.empty() || s.desync.absent.size() == 1;
  const bool talks = !data.lines.empty();
  if (!data.counts.lines.empty()) return 0.9;
  if (talks && odd_rank && !data.speaking.empty()) return 0.88;
  if (data.dry.size() == 1 && (data.speaking.size() > 1 || s.ranks.size() > 1)) return 0.85;
  if (talks && (data.speaking.size() == 1 || reached_apart(s))) return 0.8;
  if (talks && s.book.mentions("stopiteration|drop_last _|uneven|exhausted")) return 0.7;
  if (left >= 0 && s.desync.timed_out.count(left) == 0) return 0.8;
  return s.desync.behind.empty() ? 0 : talks ? 0.6 : 0.46;
}

bool raised_before(const Scene& s, int stalled) {
  return std::any_of(s.exceptions.begin(), s.exceptions.end(), [&](const ExceptionEvent& exception) {
    return exception.line < stalled &&
           !matches_any("childfailed|distbackend|timeout|stopiteration", s.book.at(exception.line).low);
  });
}

// Of two ranks' counts, whose is smaller: that rank comes to the end first, and the other one waits.
std::optional<int> shorter_of(const Scene& s, const std::vector<int>& lines) {
  const auto last = [&](int line) {
    const auto numbers = integers_in(s.book.at(line).low_body());
    return numbers.empty() ? -1 : numbers.back();
  };
  const auto a = last(lines[0]), b = last(lines[1]);
  return a < 0 || b < 0 || a == b ? std::nullopt : std::optional<int>(s.book.at(lines[a < b ? 0 : 1]).rank);
}

std::optional<int> origin(const Scene& s, const DataTalk& data, int left) {
  if (data.counts.odd.size() == 1) return *data.counts.odd.begin();
  if (data.dry.size() == 1 && s.book.mentions("stopiteration|exhausted|start of validation|starting validation"))
    return *data.dry.begin();
  if (const int suspect = s.desync.suspect(); suspect >= 0) return suspect;
  if (left >= 0) return left;
  if (data.counts.lines.size() == 2) return shorter_of(s, data.counts.lines);
  if (!data.counts.lines.empty()) return std::nullopt;
  if (data.dry.size() == 1) return *data.dry.begin();
  return data.speaking.size() == 1 ? std::optional<int>(*data.speaking.begin()) : std::nullopt;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const Stall stall = find_stall(s);
  Claim out;
  if (!stall.any || !stall.guards.empty()) return out;
  const DataTalk data = read_talk(s, m);
  const int left = stall.saves.empty() ? rank_left_behind(s, stall.first) : -1;
  out.score = weigh_talk(s, data, left);
  if (out.score == 0) return out;
  if (data.counts.lines.empty() && !s.book.mentions("stopiteration") && raised_before(s, stall.first)) out.score = 0.4;
  show_data(s, data.counts, data.lines, out);
  for (const int line : data.dry.size() == 1 ? data.ran_out : std::vector<int>{}) {
    if (out.lines.size() < 7) out.show(line);
  }
  for (const int line : s.desync.lines) {
    if (out.lines.size() < 7) out.show(line);
  }
  for (std::size_t i = 0; i < s.timeouts.size() && i < 2; ++i) {
    if (out.lines.size() < 7) out.show(s.timeouts[i].line);
  }
  for (const int line : left >= 0 ? s.book.find("core", "step").lines : std::vector<int>{}) {
    if (s.book.at(line).rank == left && line < stall.first) out.lines.insert(out.lines.begin(), line);
    if (out.lines.size() > 7) break;
  }
  return out.root(origin(s, data, left));
}

}  // namespace

CauseRule uneven_data_across_ranks() {
  return {
      "uneven-data-across-ranks",
      {{"data",
        "start of validation|starting validation|loader len|loader size|batches per epoch|dataset shard|dataset*rows|dataset*steps|loader*steps|shard*rows|shard*steps|files assigned|documents assigned|skip*sample|skipping*sample|skip*batch|drop*sample|dropped*batch|stopiteration"
        "|len(dataloader)|dataloader*len|num batches|number of batches|num_batches"
        "|steps per epoch|steps_per_epoch|uneven|exhausted|no more data|drop_last|empty batch"
        "|ran out of|batches left|samples per rank|micro-batch|iterator*empty|iterator*exhausted|loader*exhausted|microbatches|accumulation steps"
        "|num_microbatch|end of epoch|finished epoch|epoch*finished|epoch*done|shard*samples"
        "|local samples|dataset*samples|remaining*batch|dataloader*batches|last batch"
        "|end of data|eof|packed|iterabledataset|split_dataset|batches|validate epoch|val, rank|: * samples|full batches"}},
      evaluate};
}

}  // namespace fx::knowledge
