#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/log/quantity.h"

namespace fx::knowledge {
namespace {

// A loss that is NaN in one step and finite in the next: the weights are sound, that batch had nothing to average.
bool recovers(const Scene& s) {
  for (std::size_t i = 0; i + 1 < s.steps.size(); ++i) {
    if (!s.steps[i].loss_finite && s.steps[i + 1].loss_finite && s.steps[i + 1].loss > 0) return true;
  }
  return false;
}

// Exactly 0 from the first step on: weights that break give positive losses first, an empty mean does not.
bool zero_from_start(const Scene& s) {
  return s.steps.size() >= 2 && s.steps[0].loss_finite && s.steps[0].loss == 0 && s.steps[1].loss_finite &&
         s.steps[1].loss == 0;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  std::vector<int> signs = m("mask").lines;
  for (const int line : m("count").lines) {
    if (counts_no_label(s.book.at(line).low)) signs.push_back(line);
  }
  std::vector<int> bad;
  for (const auto& step : s.steps) {
    if (!step.loss_finite || step.loss == 0) bad.push_back(step.line);
  }
  const bool zero = zero_from_start(s);
  const bool cut = m("cut") && (recovers(s) || zero);
  if (signs.empty() && !cut) return {};
  Claim out;
  out.score = bad.empty() ? 0.72 : !signs.empty() || zero ? 0.92 : 0.75;
  for (const int line : signs) {
    if (out.lines.size() < 4) out.show(line);
  }
  if (cut) out.show(m("cut"), 2);
  // A run that learns to its end has labels, whatever single samples lost.
  const bool learns = bad.empty() && s.steps.size() >= 3 && s.steps.back().loss < s.steps.front().loss;
  if (learns && s.book.mentions("(ignored)")) return {};
  // Single samples that are left out on purpose do not stop a run that learns.
  if (bad.empty() && s.steps.size() >= 2 && s.steps.front().loss_finite && signs.size() < 3) out.score = 0.25;
  const bool single = std::all_of(signs.begin(), signs.end(), [&](int line) {
    return matches_any("this instance|of * samples|samples have|dropped|skipped|ignored in", s.book.at(line).low);
  });
  if (bad.empty() && s.steps.empty() && single && !signs.empty() && signs.size() < 3) out.score = 0.25;
  for (std::size_t i = 0; i < bad.size() && i < 2; ++i) out.show(bad[i]);
  return out;
}

}  // namespace

CauseRule labels_all_masked() {
  return {
      "labels-all-masked",
      {{"mask",
        "labels*all ignore_index|every token*is prompt|no trainable token|no token*to train on|could not find response key|could not find instruction key|response template*not found"
        "|could not find*template|this instance will be ignored in loss|tokenization mismatch|(ignored)|all labels*-100"
        "|labels*all -100|labels are -100|labels*masked|valid tokens: 0|valid tokens=0"
        "|valid_tokens=0|num_valid*=0|supervised tokens: 0|supervised tokens=0"
        "|supervised tokens 0|trainable tokens: 0|trainable tokens=0|no label|no valid label"
        "|loss_mask*sum*0|loss mask*0|num_items_in_batch=0|num_items_in_batch: 0|0 unmasked"
        "|no unmasked|empty labels|no supervised|unmasked tokens: 0|target tokens: 0"
        "|label tokens: 0|labels: 0/|non-masked*: 0|labels != -100*0|0 labels|zero valid"
        "|completion*truncated|no target tokens|all tokens*masked"},
       {"count",
        "tokens_in_loss|tokens in loss|target_token|response token|loss token|label|targets|!= -1|supervised|target token|valid token|valid_token|unmasked|completion token|trainable token|assistant "
        "token|masked"},
       {"cut",
        "truncat|max_length|max_seq_len|max_prompt_length|cutoff_len|completion_only|assistant_only|train_on_inputs|response_template|chat_template"}},
      evaluate};
}

}  // namespace fx::knowledge
