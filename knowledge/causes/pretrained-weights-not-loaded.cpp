#include <algorithm>
#include <cmath>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/state_dict_errors.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("sign")) return {};
  const bool failed = !s.exceptions.empty() || !s.ooms.empty() || s.book.find("core", "stall").count > 0;
  const auto first =
      std::find_if(s.steps.begin(), s.steps.end(), [](const StepEvent& step) { return step.loss_finite; });
  // A pretrained language model starts near 1-3; ln(32,000) is 10.4.
  const bool random_loss = first != s.steps.end() && first->loss > 6.5 && first->loss < 14;
  const bool newly = s.book.mentions("newly initialized|were not initialized");
  Claim out = claim(random_loss ? 0.88 : newly ? 0.45 : 0.5, m("sign"), 4);
  if (failed) out.score = 0.3;
  if (!random_loss && first != s.steps.end() && first->loss > 0 && first->loss < 5) out.score = 0.2;
  const NameMismatch names = read_name_mismatch(s.book);
  if (names.same_without_wrappers) out.score = std::min(out.score, 0.7);
  // A head that is new by design is normal.
  if (newly && !random_loss && s.book.mentions("score.weight|classifier|qa_outputs|lm_head.weight are newly"))
    out.score = 0.2;
  if (random_loss) out.show(first->line);
  return out.show(m("gibberish"), 1);
}

}  // namespace

CauseRule pretrained_weights_not_loaded() {
  return {"pretrained-weights-not-loaded",
          {{"sign",
            "newly initialized|were not initialized from the model checkpoint|randomly initialized"
            "|random init|training from scratch|train from scratch|no pretrained|no checkpoint*found"
            "|initial_load_path*none|initial_load_path: none|initial_load_path=none"
            "|initial_load_path*empty|starting from scratch|missing keys: "
            "|load_state_dict(strict=false)|strict=false|weights not loaded|skipping load"
            "|checkpoint path*none|no weights loaded|all keys missing|from_config"
            "|could not find*checkpoint*scratch|not loading pretrained|pretrained*false"
            "|load_weights: false|0 tensors loaded|loaded 0|initializing with random"
            "|checkpoint*is empty|empty state dict"},
           {"gibberish", "gibberish|perplexity*e+|random output|eval*acc*chance"},
           {"loaded", "loaded pretrained|weights loaded|all keys matched|loading checkpoint shards: 100%"}},
          evaluate};
}

}  // namespace fx::knowledge
