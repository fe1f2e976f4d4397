#include "knowledge/causes/step_time.h"

#include <algorithm>
#include <array>
#include <optional>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

struct Timing {
  TimeKind kind = TimeKind::kWhole;
  double value = 0;  // seconds, or a share when percent
  bool percent = false;
};

struct Words {
  TimeKind kind;
  const char* pattern;
};
// The first row that fits decides.
constexpr std::array kWords{
    Words{
        TimeKind::kData,
        "data|loader|fetch|input wait|decode|batch_gen|batch-gen|get_batch|next(|__next__|tokeniz|h2d wait|read batch"},
    Words{TimeKind::kCommunication,
          "all_gather|all-gather|allgather|reduce_scatter|reduce-scatter|reducescatter|allreduce|all_reduce|"
          "all-reduce|comm|nccl|exposed|broadcast|collective"},
    Words{TimeKind::kOffload, "h2d|d2h|htod|dtoh|memcpy|copy|offload|cpu adam|cpu_adam|cpuadam|cpu optim|host to"},
    Words{TimeKind::kOptimizer, "optim|step_microstep|adam|update"},
    Words{TimeKind::kCompute, "forward|fwd|backward|bwd|compute|gemm|matmul|kernel"},
    Words{TimeKind::kWhole, "step|iter|batch|total|time|elapsed"},
};

bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<TimeKind> kind_of(std::string_view label) {
  // A part that is called just "load" is that of a batch.
  const auto name = label.substr(std::min(label.size(), label.find_first_not_of(" |,;")));
  if (matches_any("t_load|load_t", name) || name.substr(0, 5) == "load " || name.substr(0, 5) == "load=" ||
      name.substr(0, 5) == "load:")
    return TimeKind::kData;
  for (const auto& row : kWords) {
    if (matches_any(row.pattern, label)) return row.kind;
  }
  return std::nullopt;
}

// Seconds of one unit of the number that ends at pos: 1 for "s", 0.001 for "ms"; 0 when no unit follows.
double unit_seconds(std::string_view low, std::size_t pos) {
  while (pos < low.size() && low[pos] == ' ') ++pos;
  const auto rest = low.substr(pos);
  const auto ends = [&](std::size_t length) {
    return rest.size() <= length || !((rest[length] >= 'a' && rest[length] <= 'z') || rest[length] == '/');
  };
  if (rest.substr(0, 2) == "ms" && ends(2)) return 0.001;
  if (rest.substr(0, 1) == "s" && ends(1)) return 1;
  for (const std::string_view word : {"sec", "secs", "seconds"}) {
    if (rest.substr(0, word.size()) == word && ends(word.size())) return 1;
  }
  return 0;
}

// "name: value" pairs in order; the name is what stands between a number and the sign or number before it.
std::vector<Timing> timings_in(std::string_view low) {
  const bool milliseconds = matches_any("(ms)|time (ms", low);
  // DeepSpeed's row of timers: its "step" is the optimizer's, and "bwd_inner" is a part of "bwd".
  const bool timers = matches_any("fwd*bwd_inner*step|forward*backward_inner*step|time (ms) | ", low);
  std::vector<Timing> out;
  std::size_t label_from = 0;
  for (std::size_t at = 0; at < low.size();) {
    if (low[at] == '|' || low[at] == ',' || low[at] == ';') label_from = at + 1;
    const bool starts =
        digit(low[at]) && (at == 0 || !(digit(low[at - 1]) || (low[at - 1] >= 'a' && low[at - 1] <= 'z') ||
                                        low[at - 1] == '.' || low[at - 1] == '_'));
    if (!starts) {
      ++at;
      continue;
    }
    const auto value = number_after(low.substr(at), "");
    std::size_t end = at;
    while (end < low.size() && (digit(low[end]) || low[end] == '.')) ++end;
    const std::string_view label = low.substr(label_from, at - label_from);
    const bool percent = low.substr(end, 1) == "%" || low.substr(end, 2) == " %";
    double unit = unit_seconds(low, end);
    if (unit == 0 && matches_any("*_ms\"|*_ms:|*_ms=|*_ms |*ms\":", label)) unit = 0.001;  // the name tells it
    if (percent && is_bar(low, low.find('%', end))) {
      label_from = at = end;
      continue;
    }
    const bool timed = percent || unit > 0 || milliseconds || matches_any("time|data|_s|(t)", label);
    const bool part_of =
        label.size() >= 3 && (label.substr(label.size() - 3) == "of " || label.substr(label.size() - 3) == " / ");
    const bool per_step = matches_any("s/it|s/step|s/iter|s/batch", low.substr(end, 8));
    if (per_step && value) {
      out.push_back({TimeKind::kWhole, *value, false});
      label_from = at = end;
      continue;
    }
    auto kind = part_of ? std::optional(TimeKind::kWhole) : kind_of(label);
    if (timers && kind == TimeKind::kWhole) kind = TimeKind::kOptimizer;
    if (value && kind && timed &&
        !matches_any(
            "util|overlap|dataparallel|data_parallel|data parallel|data-parallel|metadata|dataset|database|loss|lr_|lr:|lr=|_lr|mem_|memory|mem:|rank|bwd_inner|backward_inner|ward_allreduce|bwd_allreduce",
            label))
      out.push_back({*kind, *value * (percent ? 0.01 : unit > 0 ? unit : milliseconds ? 0.001 : 1), percent});
    label_from = end;
    at = end;
  }
  return out;
}

double share_in(const std::vector<Timing>& timings, TimeKind kind) {
  double own = 0, parts = 0, whole = 0, percent = 0;
  for (const auto& timing : timings) {
    if (timing.percent) {
      if (timing.kind == kind) percent += timing.value;
    } else if (timing.kind == TimeKind::kWhole) {
      whole = std::max(whole, timing.value);
    } else {
      parts += timing.value;
      if (timing.kind == kind) own += timing.value;
    }
  }
  if (percent > 0) return std::min(percent, 1.0);
  // A "step" shorter than the one part beside it is another part.
  const double all = whole < 0.9 * parts && own == parts ? whole + parts : std::max(whole, parts);
  // A single timing has nothing to compare with.
  const bool compared = whole > 0 || parts > own * 1.02;
  return compared && all > 0 ? own / all : 0;
}

struct Row {
  int line = -1;
  std::vector<Timing> timings;
};

bool has(const std::vector<Timing>& timings, TimeKind kind) {
  return std::any_of(timings.begin(), timings.end(), [&](const Timing& timing) { return timing.kind == kind; });
}

// Directly below another line of the same writer, with parts that that one does not tell.
bool continues(const LogBook& book, const Row& above, const Row& row) {
  if (above.line < 0 || row.line - above.line > 2 || above.timings.empty() || row.timings.empty()) return false;
  const bool same = book.at(above.line).stream == book.at(row.line).stream;
  return same && std::none_of(row.timings.begin(), row.timings.end(),
                              [&](const Timing& timing) { return timing.percent || has(above.timings, timing.kind); });
}

}  // namespace

bool is_bar(std::string_view low, std::size_t sign) {
  return low.substr(sign + 1, 1) == "|" && low.find('[', sign) != std::string_view::npos;
}

const std::vector<Mark>& step_time_marks() {
  static const std::vector<Mark> marks{
      {"timing",
       "compute|fetch|time|data|forward|backward|fwd|bwd|all_gather|all-gather|reduce_scatter|comm|h2d|d2h|memcpy|optim|loader|"
       "__next__|exposed"}};
  return marks;
}

TimeShare share_of(const Scene& scene, TimeKind kind) {
  TimeShare out;
  Row last;
  std::size_t measured = 0;
  for (const int line : scene.book.find("core", "timing").lines) {
    const auto& low = scene.book.at(line).low;
    if (matches_any("watchdog|error|timeout|file \"", low)) continue;
    Row row{line, timings_in(scene.book.at(line).low_body())};
    double share = share_in(row.timings, kind);
    int proof = line;
    // One step's parts may stand in two lines of a writer.
    if (share == 0 && continues(scene.book, last, row)) {
      std::vector<Timing> both = last.timings;
      both.insert(both.end(), row.timings.begin(), row.timings.end());
      share = share_in(both, kind);
      if (!has(row.timings, kind)) proof = last.line;
    }
    out.share = std::max(out.share, share);
    measured += share > 0;
    if (share >= 0.4) out.lines.push_back(proof);
    last = std::move(row);
  }
  // One slow step among others that are not is no bound; several of them may take most of the time.
  if (out.lines.size() == 1 && measured >= 3) out.lines.clear();
  return out;
}

}  // namespace fx::knowledge
