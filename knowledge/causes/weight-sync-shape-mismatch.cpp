#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("sync") || !m("shape") || !m("engine")) return {};
  std::vector<int> errors;
  for (const int line : m("shape").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any(
            "error|failed|mismatch|incoming|out of range|not found|unexpected|assert|partially|no module|attempted to load",
            low))
      errors.push_back(line);
  }
  Claim out;
  if (errors.empty()) return out;
  out.score = s.book.mentions(
                  "failed to update|update_weight*fail|update_weight*error|weight_loader|online|incoming|load_weights|"
                  "weight sync|weight update|weight transfer")
                  ? 0.94
                  : 0.7;
  for (const int line : errors) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.show(m("sync"), 1);
}

}  // namespace

CauseRule weight_sync_shape_mismatch() {
  return {
      "weight-sync-shape-mismatch",
      {{"sync",
        "update_weights|weight sync|weight update|weight transfer|sync_weights|sync weights|syncing weights|weights to vllm|weights to sglang|weights to engine"
        "|weight_update|update weights|update_named_param|load_weights|update_weight"
        "|online update|update parameter|reload weights|weight_loader"},
       {"shape",
        "update_weights*failed|update_weight*failed|valid data dimension|not a valid*dimension|<- loaded (|unsupported parameter name|failed to update parameter|attempted to load weight*into parameter|no module or parameter named|out of range (expected|shape (*shape ("
        "|shape mismatch|size mismatch|shape*expected|mismatched shape|assert*shape"
        "|loaded_weight.shape|not found in params|keyerror: '*weight|keyerror: 'model|unexpected weight"
        "|no module or parameter named|partially updated|size of tensor a|copy_*shape"
        "|start (*exceeds dimension|weight name*not found|narrow()|unknown parameter|layout"},
       {"engine", "vllm|sglang|engine|rollout|server"}},
      evaluate};
}

}  // namespace fx::knowledge
