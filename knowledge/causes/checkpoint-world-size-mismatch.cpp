#include <algorithm>
#include <cmath>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/log/field_reader.h"
#include "knowledge/log/quantity.h"

namespace fx::knowledge {
namespace {

// An exception of a load that follows the line.
bool raised_behind(const Scene& s, int line) {
  return std::any_of(s.exceptions.begin(), s.exceptions.end(), [&](const ExceptionEvent& exception) {
    return exception.line > line && !is_echo(s.book.at(exception.line).low) && exception.line < line + 40;
  });
}

// What stands behind each "..._parallel_size" of a line.
std::set<long long> degrees_in(std::string_view low) {
  constexpr std::string_view kKey = "parallel_size";
  std::set<long long> out;
  for (auto at = low.find(kKey); at != std::string_view::npos; at = low.find(kKey, at + kKey.size())) {
    const auto value = low.find_first_not_of("=: ", at + kKey.size());
    const auto degree = value == std::string_view::npos ? std::nullopt : integer_after(low.substr(value), "");
    if (degree && *degree > 0) out.insert(*degree);
  }
  return out;
}

// Files of per-rank state name the world that wrote them, or a sentence names both: two different numbers of ranks
// beside a load.
std::vector<int> two_worlds(const Scene& s, const MarkView& m) {
  std::vector<int> lines;
  std::set<long long> counts;
  bool failed = false;
  for (const int line : m("count").lines) {
    const auto& low = s.book.at(line).low;
    const bool error =
        matches_any("error|exception|assert|cannot|missing", low) ||
        (matches_any("saved with|saved by|saved on|saved from|written by|trained with", low) && raised_behind(s, line));
    const bool saved = matches_any("saved|checkpoint|ckpt|resum|shard|optim|random_states|world_size_*_rank|load", low);
    if (!saved || matches_any("mesh|divisible|parallel dims|file \"", low)) continue;
    auto here = worker_counts(low);
    if (here.empty()) here = degrees_in(low);
    if (here.empty()) continue;
    counts.insert(here.begin(), here.end());
    failed = failed || error;
    lines.push_back(line);
  }
  const bool files = std::any_of(lines.begin(), lines.end(), [&](int line) {
    return matches_any("world_size_*_rank|trained with|saved with|written by", s.book.at(line).low);
  });
  if (s.world > 0 && files) counts.insert(s.world);
  if (!failed || counts.size() < 2) return {};
  std::stable_sort(lines.begin(), lines.end(), [&](int a, int b) {
    return matches_any("error", s.book.at(a).low) && !matches_any("error", s.book.at(b).low);
  });
  return lines;
}

// Flat optimizer state that is a whole number of times as long as the rank's shard, after a resume.
bool resumed_flat(const Scene& s, const MarkView& m, int line) {
  const auto& low = s.book.at(line).low;
  const auto a = number_after(low, "tensor a ("), b = number_after(low, "tensor b (");
  if (!a || !b || *a < 100000 || *b < 100000 || !m("resume")) return false;
  const double ratio = std::max(*a, *b) / std::min(*a, *b);
  const auto* exception = s.exception_at(line);
  const bool steps =
      exception != nullptr && std::any_of(exception->frames.begin(), exception->frames.end(), [&](int frame) {
        return phase_of_code(s.book.at(frame).low_body()) == Phase::kOptimizer;
      });
  return steps && ratio > 1.5 && std::abs(ratio - std::round(ratio)) < 1e-4;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  if (const auto worlds = two_worlds(s, m); !worlds.empty()) {
    out.score = 0.93;
    for (const int line : worlds) {
      if (out.lines.size() < 4) out.show(line);
    }
    return out.show(m("resume"), 1);
  }
  for (const int line : m("flat").lines) {
    if (!resumed_flat(s, m, line)) continue;
    out.score = 0.88;
    return out.show(line).show(m("resume"), 2).show(m("written"), 2);
  }
  std::vector<int> errors;
  for (const auto* name : {"key", "world", "size"}) {
    for (const int line : m(name).lines) {
      const auto& low = s.book.at(line).low;
      if (matches_any("error|missing|does not|not supported|mismatch|expected|differ|exception|cannot", low) &&
          !matches_any("file \"", low))
        errors.push_back(line);
    }
  }
  if (errors.empty()) return out;
  const bool per_rank = std::any_of(errors.begin(), errors.end(), [&](int line) {
    return matches_any(
        "dp_rank|exp_avg|flat_param|_rank_|rank_*|world size|world_size|gpus|ranks|random_states|universal|data parallel size|shards|local shard|dp_degree",
        s.book.at(line).low);
  });
  const bool loads = s.book.mentions("checkpoint|resum|load_state|loading states|restor");
  if (!per_rank || !loads) return out;
  const bool keyed = m("key").count > 0;
  out.score = keyed || m("world") ? 0.92 : 0.7;
  for (const int line : errors) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.show(m("resume"), 1);
}

}  // namespace

CauseRule checkpoint_world_size_mismatch() {
  return {
      "checkpoint-world-size-mismatch",
      {{"key",
        "missing key in checkpoint state_dict|dp_rank_|key*rank_*not found|keyerror*rank"
        "|missing*rank*in checkpoint"},
       {"world",
        "different*world size|world size*changed|world_size*changed|dp world size"
        "|loaded checkpoint*world|saved with*ranks|saved with*world|saved on*gpus|saved with*gpus"
        "|saved using*gpus|does not support*different*world|checkpoint*world_size"
        "|checkpoint*world size|number of ranks*checkpoint|zero*checkpoint*different"
        "|data parallel size*checkpoint|expected*shards*found|automatic adjustment of zero"
        "|universal checkpoint|resharding*not supported|dp_degree is inconsistent|elastic*checkpoint"},
       {"size",
        "size of tensor a*exp_avg|size of tensor a*flat|flat*numel*|flat*size mismatch|optim*size mismatch|size mismatch*flat|size mismatch*exp_avg"
        "|local shard*size|rng_state_*|random_states_|loader_state*rank|dataloader*state"},
       {"flat", "size of tensor a (*must match the size of tensor b ("},
       {"written", "written by|saved by|saved with|saved on"},
       {"count", "parallel_size|devices|world size|world_size|ranks|gpus|processes|data parallel size|dp size"},
       {"resume", "loading the checkpoint|resum|load_state|loading states|restor"}},
      evaluate};
}

}  // namespace fx::knowledge
