#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (m("recompute")) return {};
  Claim out;
  if (m("shape")) {
    std::vector<int> errors;
    for (const int line : m("shape").lines) {
      if (matches_any("error|exception|assert", s.book.at(line).low)) errors.push_back(line);
    }
    if (errors.empty()) return out;
    out.score = m("bypass") ? 0.92 : m("fsdp") ? 0.8 : 0.6;
    for (const int line : errors) {
      if (out.lines.size() < 3) out.show(line);
    }
  } else if (m("mixed") && m("bypass")) {
    out.score = 0.6;
    out.show(m("mixed"), 2);
  }
  if (out.score == 0) return out;
  for (const int line : m("bypass").lines) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule fsdp_params_not_gathered() {
  return {
      "fsdp-params-not-gathered",
      {{"shape",
        "size of tensor a (0)|size of tensor b (0)|weight' must be 2-d|weight must be 2-d|must be 2-d|mat2 must be a matrix"
        "|should be a matrix|mat1 and mat2 shapes cannot be multiplied*x0"
        "|size mismatch, got input|vec (|is invalid for input of size 0|data is not allocated yet"
        "|storage of size 0|setstorage|but got 1-d|got 1-d tensor|1d tensors expected|1d target"
        "|inconsistent tensor size|weight of size [0]|shapes cannot be multiplied*and 0"
        "|handletrainingstate|expected to be in states|training state*idle|fsdp*expects*unsharded"
        "|has been resharded|non-empty*weight|weight should have at least"
        "|same number of dimensions*weight|invalid for input of size"},
       {"bypass",
        ".generate(|generate|encode(|.module.|get_input_embeddings|callback|summon|embed_tokens"
        "|encode_|forward_features|.backbone|.lm_head|get_text_features|submodule"
        "|without going through"},
       {"fsdp", "fsdp|fully_shard|fullysharded|zero3|zero stage 3|shard"},
       {"recompute", "recomputed|checkpointerror"},
       {"mixed", "mixed torch.tensor and dtensor"}},
      evaluate};
}

}  // namespace fx::knowledge
