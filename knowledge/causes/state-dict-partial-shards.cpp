#include <algorithm>
#include <cmath>
#include <map>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/state_dict_errors.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  const auto rows = read_size_mismatches(s.book);
  std::map<long, int> ratios;
  int empty = 0, others = 0, whole = 0;
  for (const auto& row : rows) {
    if (row.embedding && !row.empty() && !row.flat()) {
      if (out.lines.size() < 5) out.show(row.line);
      ++others;
      continue;
    }
    if (row.empty() || row.flat()) {
      ++empty;
    } else if (const double ratio = row.ratio(); ratio > 1.5 && std::abs(ratio - std::round(ratio)) < 0.01) {
      ++ratios[std::lround(ratio)];
    } else {
      ++others;
    }
    if (out.lines.size() < 5) out.show(row.line);
  }
  // A whole file met a model in shards.
  if (empty == 0 && std::any_of(rows.begin(), rows.end(), [](const SizeMismatch& row) { return row.unheld(); }))
    return {};
  for (const auto& [ratio, count] : ratios) whole = std::max(whole, count);
  if (empty >= 1) out.score = empty >= 2 ? 0.95 : 0.85;
  // The same fraction everywhere: one rank's shard.
  if (out.score == 0 && whole >= 2) out.score = 0.88;
  // One tensor may be by chance; that its fraction is the number of ranks is none.
  if (out.score == 0 && s.world > 1 && others == 0 && ratios.count(s.world) > 0) out.score = 0.85;
  if (out.score == 0 && m("tensors") && m("load") && s.book.mentions("checkpoint|bin|safetensors|state_dict")) {
    bool error = false;
    for (const int line : m("tensors").lines) error = error || !matches_any("metadata|recomputed", s.book.at(line).low);
    if (error) out = claim(0.7, m("tensors"), 3);
  }
  if (s.book.mentions("recomputed values")) out.score = 0;
  if (out.score == 0) return {};
  out.show(m("raised"), 1);
  return out.show(m("file"), 2);
}

}  // namespace

CauseRule state_dict_partial_shards() {
  return {"state-dict-partial-shards",
          {{"raised", "error(s) in loading state_dict"},
           {"file",
            "zero_to_fp32|global_step|pytorch_model.bin|rank0_only|local_state_dict|flat_param"
            "|stage3_gather|_flat_param"},
           {"tensors", "torch.size([0])|numel() == 0|empty tensor|size of tensor a (0)"},
           {"load", "from_pretrained|load_state_dict|loading state_dict|copying a param"}},
          evaluate};
}

}  // namespace fx::knowledge
