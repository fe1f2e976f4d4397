#include <cmath>
#include <numbers>

#include "spec/model_shape.h"

namespace fx {
namespace {

// llama3 scaling: long waves are stretched by factor, short ones kept, those between blended linearly in the number of
// turns that fit into the original context (as in the Llama 3.1 release, transformers' modeling_rope_utils.py).
double llama3(double frequency, const RopeScaling& scaling) {
  const double turns = static_cast<double>(scaling.original_max_positions) * frequency / (2 * std::numbers::pi);
  if (turns < scaling.low_freq_factor) return frequency / scaling.factor;
  if (turns > scaling.high_freq_factor) return frequency;
  const double keep = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return frequency * (keep + (1 - keep) / scaling.factor);
}

}  // namespace

std::vector<double> rope_inverse_frequencies(const ModelShape& shape) {
  std::vector<double> out;
  for (long long i = 0; i < shape.head_dim; i += 2) {
    double frequency = std::pow(shape.rope_theta, -static_cast<double>(i) / static_cast<double>(shape.head_dim));
    if (shape.rope_scaling.type == "linear") frequency /= shape.rope_scaling.factor;
    if (shape.rope_scaling.type == "llama3") frequency = llama3(frequency, shape.rope_scaling);
    out.push_back(frequency);
  }
  return out;
}

}  // namespace fx
