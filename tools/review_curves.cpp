#include "tools/review_curves.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace fx::tools {
namespace {

double four_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

template <class Read>
Json curve(const std::vector<StepEvent>& steps, Read read) {
  Json out = Json::array();
  const std::size_t count = steps.size();
  const auto point = [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += read(steps[i]);
    const double value = four_digits(sum / static_cast<double>(end - begin));
    Json row = {steps[end - 1].step, nullptr};
    if (std::isfinite(value)) row[1] = value;
    out.push_back(std::move(row));
  };
  if (count <= kCurvePoints) {
    for (std::size_t i = 0; i < count; ++i) point(i, i + 1);
    return out;
  }
  point(0, 1);
  const std::size_t inner = count - 2, stretches = kCurvePoints - 2;
  for (std::size_t i = 0; i < stretches; ++i) point(1 + i * inner / stretches, 1 + (i + 1) * inner / stretches);
  point(count - 1, count);
  return out;
}

}  // namespace

Json review_curves(const RunEvents& events) {
  Json out = Json::object();
  out["loss"] = curve(events.steps, [](const StepEvent& step) { return step.loss; });
  out["grad_norm"] = curve(events.steps, [](const StepEvent& step) { return step.grad_norm; });
  out["lr"] = curve(events.steps, [](const StepEvent& step) { return step.lr; });
  out["tokens_per_s"] = curve(events.steps, [](const StepEvent& step) { return step.tokens_per_s; });
  return out;
}

}  // namespace fx::tools
