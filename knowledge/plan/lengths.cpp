#include "knowledge/plan/lengths.h"

#include <algorithm>
#include <cmath>

namespace fx::knowledge::plan {
namespace {

// Sequence length over mean length of supervised data cut at a usual length, where it is not given.
constexpr double kUsualSpread = 4;

}  // namespace

double padded_length(const Setting& s) {
  if (s.example <= 0) return s.seq;
  // The longest of n exponential lengths is 1 + 1/2 + ... + 1/n means long.
  constexpr double kEuler = 0.5772;
  const double n = s.micro_batch, harmonic = n <= 1 ? 1 : std::log(n) + kEuler + 1 / (2 * n);
  return std::min(s.seq, s.example * harmonic);
}

double longest_so_far(const Setting& s) {
  const double spread = s.example > 0 ? s.seq / s.example : kUsualSpread;
  // Each exceeds the last by one mean, as exponential lengths do: 1 + 2 + ... + spread of them, over spread.
  return (spread + 1) / 2;
}

}  // namespace fx::knowledge::plan
