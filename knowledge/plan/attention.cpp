#include "knowledge/plan/attention.h"

namespace fx::knowledge::plan {
namespace {

// Bytes a score. The softmax works in fp32 and keeps its output; in a narrower compute dtype its cast, too, for the
// product with the values. Backward: the cast's gradient, its copy in fp32, the softmax's gradient, and that cast back.
constexpr double kSoftmax = 4;
constexpr double kWideGradients = 2 * kSoftmax;

// Forward in compute dtype: the product writes, the scale reads and writes, the mask reads and writes, the softmax
// reads, its cast writes, the product with the values reads; in fp32 the softmax writes and its cast reads.
constexpr double kPasses = 8;
constexpr double kWideTraffic = 2 * kSoftmax;

}  // namespace

Scores attention_scores(const ModelShape& m, const Setting& s) {
  if (s.attention != Attention::kEager) return {};
  const double scores = m.heads / s.tp * s.seq;
  const double narrow = s.param_bytes < kSoftmax ? s.param_bytes : 0;
  return {scores * (kSoftmax + narrow), scores * (kWideGradients + 2 * narrow),
          scores * (kPasses * s.param_bytes + kWideTraffic)};
}

}  // namespace fx::knowledge::plan
