#include "tools/review_findings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace fx::tools {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

template <class... Args>
std::string text(const char* format, Args... args) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, format, args...);
  return buffer;
}

Finding finding(const char* rule, Severity severity, std::string message, std::string fix = {}) {
  Finding out;
  out.rule = rule;
  out.severity = severity;
  out.key = kEventsFile;
  out.message = std::move(message);
  out.fix = std::move(fix);
  return out;
}

double mean(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                         values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
         static_cast<double>(end - begin);
}

// Standard deviation of the noise between neighbouring steps, in which a slow trend does not show.
double noise(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 1; i < values.size(); ++i) sum += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  return values.size() < 2 ? 0 : std::sqrt(sum / (2.0 * static_cast<double>(values.size() - 1)));
}

const StepEvent* first_not_finite(const RunEvents& events) {
  for (const auto& step : events.steps) {
    if (!std::isfinite(step.loss) || !std::isfinite(step.grad_norm)) return &step;
  }
  return nullptr;
}

void review_loss(const RunEvents& events, std::vector<Finding>& out) {
  if (const auto* bad = first_not_finite(events)) {
    out.push_back(finding(
        "loss-not-finite", Severity::kError,
        text("%s is not a number from step %lld on", std::isfinite(bad->loss) ? "grad_norm" : "loss", bad->step),
        "lower optimizer.lr, use longer warm-up, keep clip_grad at 1, and look at the data of that step"));
    return;
  }
  std::vector<double> losses;
  for (const auto& step : events.steps) losses.push_back(step.loss);
  if (losses.size() < 4) {
    out.push_back(finding("loss-too-short", Severity::kInfo,
                          text("%zu step(s) are too few to tell whether the loss falls", losses.size())));
    return;
  }
  const std::size_t k = std::clamp<std::size_t>(losses.size() / 5, 1, 20);
  const double first = mean(losses, 0, k), last = mean(losses, losses.size() - k, losses.size());
  const double doubt = 2 * noise(losses) * std::sqrt(2.0 / static_cast<double>(k));
  const std::string said = text("loss %.4g -> %.4g (means of the first and last %zu of %zu steps; noise %.2g)", first,
                                last, k, losses.size(), noise(losses));
  if (last > first + std::max(doubt, 0.05 * std::abs(first))) {
    out.push_back(finding("loss-diverged", Severity::kError, said + ": it rose",
                          "lower optimizer.lr by 3 to 10 times, or use longer warm-up"));
  } else if (first - last > std::max(doubt, 0.01 * std::abs(first))) {
    out.push_back(finding("loss-fell", Severity::kInfo, said));
  } else {
    out.push_back(finding("loss-flat", Severity::kWarning, said + ": no clear change",
                          "train for more steps, raise optimizer.lr, and check that the data has tokens to train on"));
  }
}

void review_gradients(const RunEvents& events, const RunSpec& spec, std::vector<Finding>& out) {
  std::vector<double> norms;
  for (const auto& step : events.steps) norms.push_back(step.grad_norm);
  const double usual = median(norms);
  if (norms.size() < 10 || !(usual > 0)) return;
  const auto top = std::max_element(norms.begin(), norms.end());
  if (std::isfinite(*top) && *top > 10 * usual) {
    const auto& step = events.steps[static_cast<std::size_t>(top - norms.begin())];
    out.push_back(finding("gradient-spike", Severity::kWarning,
                          text("grad_norm %.3g at step %lld, the median is %.3g", *top, step.step, usual),
                          "look at the data of that step; keep clip_grad on"));
  }
  const double clip = spec.optimizer.clip_grad;
  const auto clipped = std::count_if(norms.begin(), norms.end(), [&](double norm) { return clip > 0 && norm > clip; });
  if (static_cast<double>(clipped) > 0.9 * static_cast<double>(norms.size())) {
    out.push_back(
        finding("gradients-always-clipped", Severity::kInfo,
                text("%ld of %zu steps were clipped to %.3g (median grad_norm %.3g): clipping sets the step size",
                     static_cast<long>(clipped), norms.size(), clip, usual)));
  }
}

void review_speed(const RunEvents& events, std::vector<Finding>& out) {
  std::vector<double> rates, waits;
  for (std::size_t i = 1; i < events.steps.size(); ++i) {
    const auto& step = events.steps[i];
    if (step.tokens_per_s <= 0) continue;
    rates.push_back(step.tokens_per_s);
    waits.push_back(step.comm_ms / 1000 / (static_cast<double>(step.tokens) / step.tokens_per_s));
  }
  if (rates.size() < 4) return;
  const double usual = median(rates);
  const auto slow = std::count_if(rates.begin(), rates.end(), [&](double rate) { return rate < 0.7 * usual; });
  const std::size_t quarter = std::max<std::size_t>(rates.size() / 4, 1);
  const double early = median({rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(quarter)});
  const double late = median({rates.end() - static_cast<std::ptrdiff_t>(quarter), rates.end()});
  if (late < 0.8 * early) {
    out.push_back(finding("throughput-falls", Severity::kWarning,
                          text("%.4g tokens/s at first, %.4g at the end", early, late),
                          "look for other work on this machine, heat limits and growing memory"));
  } else if (static_cast<double>(slow) > 0.1 * static_cast<double>(rates.size())) {
    out.push_back(
        finding("throughput-unsteady", Severity::kWarning,
                text("%ld of %zu steps ran below 70 %% of the median %.4g tokens/s", static_cast<long>(slow),
                     rates.size(), usual),
                "look for other work on this machine, slow disks and checkpoints that are written too often"));
  } else {
    out.push_back(
        finding("throughput-steady", Severity::kInfo, text("%.4g tokens/s over all ranks in the median step", usual)));
  }
  if (const double wait = median(waits); wait > 0.3) {
    out.push_back(
        finding("communication-bound", Severity::kWarning,
                text("%.0f %% of the median step waits for communication", 100 * wait),
                "use larger micro-batches (max_tokens_per_rank) or reshard_after_forward false if memory allows"));
  }
}

void review_memory(const RunEvents& events, double memory_bytes, std::vector<Finding>& out) {
  if (events.steps.empty() || events.steps.back().peak_bytes.empty()) return;
  const auto& peaks = events.steps.back().peak_bytes;
  const double all = std::accumulate(peaks.begin(), peaks.end(), 0.0);
  const double largest = peak_rank_bytes(events), smallest = *std::min_element(peaks.begin(), peaks.end());
  if (memory_bytes > 0 && all > 0.9 * memory_bytes) {
    out.push_back(finding("memory-near-limit", Severity::kWarning,
                          text("the ranks' peaks sum up to %.2f of %.2f GiB", all / kGib, memory_bytes / kGib),
                          "lower max_tokens_per_rank, or use activation_checkpointing full"));
  } else if (memory_bytes > 0) {
    out.push_back(finding(
        "memory-has-room", Severity::kInfo,
        text("peak %.2f GiB a rank, %.2f GiB in all of %.2f GiB", largest / kGib, all / kGib, memory_bytes / kGib)));
  }
  if (smallest > 0 && largest > 1.25 * smallest) {
    out.push_back(finding("memory-uneven", Severity::kInfo,
                          text("ranks peak between %.2f and %.2f GiB", smallest / kGib, largest / kGib)));
  }
  const std::size_t settled = events.steps.size() / 3;
  const auto& before = events.steps[settled].peak_bytes;
  if (events.steps.size() >= 12 && !before.empty()) {
    const double early = *std::max_element(before.begin(), before.end());
    if (early > 0 && largest > 1.2 * early) {
      out.push_back(finding("memory-grows", Severity::kWarning,
                            text("peak grew from %.2f GiB at step %lld to %.2f GiB at the end", early / kGib,
                                 events.steps[settled].step, largest / kGib),
                            "if it goes on, a longer run ends out of memory: report it with this run's folder"));
    }
  }
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double steady_tokens_per_s(const RunEvents& events) {
  std::vector<double> rates;
  for (const auto& step : events.steps) rates.push_back(step.tokens_per_s);
  if (rates.size() > 1) rates.erase(rates.begin());
  return median(std::move(rates));
}

double peak_rank_bytes(const RunEvents& events) {
  double peak = 0;
  for (const auto& step : events.steps) {
    for (const double bytes : step.peak_bytes) peak = std::max(peak, bytes);
  }
  return peak;
}

std::vector<Finding> review_events(const RunEvents& events, const RunSpec& spec, double memory_bytes) {
  std::vector<Finding> out;
  if (events.steps.empty()) return out;
  review_loss(events, out);
  review_gradients(events, spec, out);
  review_speed(events, out);
  review_memory(events, memory_bytes, out);
  return out;
}

}  // namespace fx::tools
