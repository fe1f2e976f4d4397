#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  if (m("bound")) {
    out = claim(0.94, m("bound"), 3);
  } else if (m("assert")) {
    out = claim(0.66, m("assert"), 3);
  } else {
    return out;
  }
  for (const int line : m("sizes").telling) {
    if (out.lines.size() < 6) out.show(line);
  }
  // An id that is too large can be one rank's bad sample; a table that is too small is everybody's.
  const auto ranks = s.book.ranks_of(m("bound") ? m("bound").lines : m("assert").lines);
  return out.root(ranks.size() == 1 ? std::optional<int>(*ranks.begin()) : std::nullopt);
}

}  // namespace

CauseRule embedding_index_out_of_range() {
  return {"embedding-index-out-of-range",
          {{"bound",
            "srcindex < srcselectdimsize|index out of range in self|indexselect*assertion"
            "|vectorized_gather*assertion|t >= 0 && t < n_classes|t >= 0 && t < n_class|cur_target"
            "|target*is out of bounds|index out of bounds|out of bounds`|-sizes[i] <= index"
            "|idx_dim >= 0|index >= 0 && index|index*out of range*embedding"
            "|index*is out of bounds for*size|indexing.cu*assertion|nllloss*assertion"
            "|scattergather*assertion|token id*out of range|token id*vocab|id*>= vocab"},
           {"assert", "device-side assert triggered"},
           {"sizes",
            "added*token|adding*token|len(tokenizer)|vocab_size|tokenizer*vocab"
            "|resize_token_embeddings|vocab:|embed*x"}},
          evaluate};
}

}  // namespace fx::knowledge
