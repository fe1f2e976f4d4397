// What a config leaves open and its stated parameter count decides: tied embeddings, head width, gated MLPs.
#include <algorithm>
#include <cmath>

#include "knowledge/plan/shape.h"

namespace fx::knowledge::plan {
namespace {

// Stated counts are rounded. A shape's count is wrong where it is further off than kOff, and another's right where it
// is nearer than kNear and by more than kNearer times.
constexpr double kOff = 0.006, kNear = 0.035, kNearer = 4;
// Head widths of published models that do not divide the hidden size among the heads.
constexpr double kHeadWidths[] = {0, 128, 256};

double error_of(const ModelShape& s, double params) {
  return std::abs(count_params(s).total / params - 1);
}

ModelShape variant(const ModelShape& s, bool tied, bool gated, double head_dim) {
  ModelShape out = s;
  out.tied = tied;
  if (!gated) out.gated = false, out.norm_bias = true;  // models without gates have LayerNorm
  if (head_dim > 0) out.head_dim = head_dim;
  return out;
}

void note_changes(const ModelShape& before, ModelShape& s) {
  const std::string why = ", by model.params_b";
  if (s.tied != before.tied) s.assumed.push_back((s.tied ? "tied embeddings" : "a head of its own") + why);
  if (s.gated != before.gated) s.assumed.push_back("an MLP without gate" + why);
  if (s.head_dim != before.head_dim)
    s.assumed.push_back("heads of " + std::to_string(static_cast<long long>(s.head_dim)) + why);
}

}  // namespace

void match_count(const ModelConfig& c, ModelShape& s) {
  if (!c.params_b || *c.params_b <= 0) return;
  const double params = *c.params_b * 1e9;
  const bool heads_given = c.head_dim || c.kv_channels || c.kv_lora_rank;
  if (error_of(s, params) < kOff) return;
  ModelShape best = s;
  double least = std::min(kNear, error_of(s, params) / kNearer);
  for (const bool gated : {s.gated, false}) {
    if (gated != s.gated && (c.model_type || !c.architectures.empty() || c.hidden_act)) continue;
    for (const bool tied : {s.tied, !s.tied}) {
      if (tied != s.tied && c.tie_word_embeddings) continue;
      for (const double width : kHeadWidths) {
        if (width > 0 && heads_given) continue;
        const ModelShape other = variant(s, tied, gated, width);
        const double error = error_of(other, params);
        if (error < least) least = error, best = other;
      }
    }
  }
  note_changes(s, best);
  s = best;
}

}  // namespace fx::knowledge::plan
