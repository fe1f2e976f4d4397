#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/log/quantity.h"

namespace fx::knowledge {
namespace {

// Lines that speak of NaN or infinity as something that happened.
std::vector<int> nan_lines(const Scene& s, const MarkView& m) {
  std::vector<int> words;
  for (const int line : m("nan").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any("nan_to_num|file \"|raise _|isnan|isfinite", low) || !tells_not_finite(low)) continue;
    // One overflow that the scaler answers is its ordinary work.
    const bool answered = matches_any("found inf|inf in grad|skipping", low) && !matches_any("nan", low) &&
                          std::any_of(s.steps.begin(), s.steps.end(), [&](const StepEvent& step) {
                            return step.line > line && step.loss_finite && step.loss > 0;
                          });
    if (!answered) words.push_back(line);
  }
  return words;
}

struct Signs {
  const std::vector<int>& bad;    // losses that are not finite
  const std::vector<int>& words;  // lines that speak of NaN
  int exploded = -1;
  bool jumped = false;
  long skips = 0;
};

// What speaks against numerics: the run went on, or nothing had been updated yet.
double most_it_can_be(const Scene& s, const Signs& signs) {
  const auto sound_after = [&](int line) {
    return std::count_if(s.steps.begin(), s.steps.end(),
                         [&](const StepEvent& step) { return step.line > line && step.loss_finite && step.loss > 0; });
  };
  // Gradients that were not finite for a while are the scaler's ordinary search, when the loss never was and goes on.
  if (signs.bad.empty() && !signs.jumped && signs.exploded < 0 && s.exceptions.empty() && !signs.words.empty() &&
      sound_after(signs.words.back()) >= 2)
    return 0.2;
  double most = 1;
  // A loss of exactly 0 from the first step on is no overflow.
  const bool zero_start = s.steps.size() >= 2 && s.steps[0].loss == 0 && s.steps[1].loss == 0;
  if (zero_start && signs.exploded < 0 && signs.skips == 0) most = 0.7;
  // NaN in one batch and a finite loss in the next: weights that are NaN do not recover.
  const bool recovered = !signs.bad.empty() && sound_after(signs.bad.back()) > 0;
  return recovered && !signs.jumped && signs.skips == 0 ? 0.6 : most;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  std::vector<int> bad;
  for (const auto& step : s.steps) {
    if (!step.loss_finite) bad.push_back(step.line);
  }
  // A loss that exploded, and zeros after it (fp16 turns NaN into 0 in some trainers).
  int exploded = -1;
  bool jumped = false;
  for (std::size_t i = 1; i < s.steps.size(); ++i) {
    const auto& before = s.steps[i - 1];
    const auto& now = s.steps[i];
    const bool jump =
        now.loss_finite && before.loss_finite && before.loss > 0 && now.loss > 2.5 * before.loss && now.loss > 8;
    const bool healthy_after = i + 1 < s.steps.size() && s.steps[i + 1].loss_finite && s.steps[i + 1].loss > 0;
    const bool zero = now.loss == 0 && before.loss > 1 && !healthy_after;
    if ((jump || zero) && exploded < 0) exploded = now.line;
    jumped = jumped || jump;
  }
  const long skips = m("overflow").count;
  const bool at_minimum =
      s.book.mentions("attempted loss scale: 1,|minimum loss scale|already at minimum|scale*from 2 to 1|loss scale: 0");
  const auto words = nan_lines(s, m);
  if (!bad.empty() || !words.empty()) out.score = 0.88;
  if (skips >= 3 && at_minimum) out.score = std::max(out.score, 0.92);
  if (m("exhausted")) out.score = std::max(out.score, 0.9), out.show(m("exhausted"), 2);
  if (skips >= 8) out.score = std::max(out.score, 0.75);
  if (out.score == 0) return out;
  if (exploded >= 0) out.score = std::max(out.score, 0.92), out.show(exploded);
  if (m("masked") && exploded < 0 && skips == 0) out.score = 0.5;
  out.score = std::min(out.score, most_it_can_be(s, {bad, words, exploded, jumped, skips}));
  for (const auto& exception : s.exceptions) {
    if (matches_any("nan|inf", exception.message) && out.lines.size() < 2) out.show(exception.line);
  }
  for (std::size_t i = 0; i < bad.size() && i < 2; ++i) out.show(bad[i]);
  for (const int line : words) {
    if (out.lines.size() < 6) out.show(line);
  }
  const auto& overflow = m("overflow").lines;
  for (std::size_t i = 0; i < overflow.size() && out.lines.size() < 8; ++i) out.show(overflow[overflow.size() - 1 - i]);
  return out;
}

}  // namespace

CauseRule non_finite_loss() {
  return {
      "non-finite-loss",
      {{"nan",
        "loss*nan|nan loss|loss is nan|loss=nan|'loss': nan|grad_norm*nan|grad_norm*inf"
        "|grad norm*nan|non-finite|nonfinite|not finite|found nan|nan detected|nan in|nans in"
        "|contains nan|either `inf`, `nan`|returned nan|inf detected|found inf|infs|all nan| nan_|: nan|=nan|found_inf"},
       {"overflow",
        "overflow|skipping step|loss scale*reducing|reducing*loss scale|minimum loss scale"
        "|loss scale already at minimum|loss scale: 0|scale down"},
       {"exhausted", "loss scale already at minimum|minimum loss scale*reached|loss scale*reached*minimum"},
       {"masked",
        "-100|no label|ignore_index|valid tokens|supervised tokens|response template|all masked"
        "|num_items_in_batch=0|label*masked"}},
      evaluate};
}

}  // namespace fx::knowledge
