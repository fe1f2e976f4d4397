#include "knowledge/causes/cause.h"
#include "knowledge/causes/state_dict_errors.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  const auto rows = read_size_mismatches(s.book);
  bool only_embedding = !rows.empty();
  for (const auto& row : rows) {
    only_embedding = only_embedding && row.embedding && !row.empty() && !row.unheld() && !row.flat();
    if (row.embedding && out.lines.size() < 4) out.show(row.line);
  }
  if (only_embedding) {
    out.score = 0.94;
  } else if (rows.empty() && m("table")) {
    out = claim(0.88, m("table"), 3);
  } else if (rows.empty() && m("tensor") && m("vocab")) {
    const bool error_near = s.book.mentions(
        "error*size of tensor a|error*shape mismatch|error*vocab|error*sizes do not "
        "match|error*embed|error*shape*lm_head|error*size mismatch");
    const bool loading = s.book.mentions(
        "load_state_dict|set_model_state_dict|resume|loading|from checkpoint|_load|merge_and_unload|convert");
    if (!error_near) return {};
    out = claim(loading ? 0.88 : 0.6, m("tensor"), 3);
  } else {
    return {};
  }
  for (const int line : m("vocab").lines) {
    if (out.lines.size() < 7 && s.book.at(line).low.find("file \"") == std::string::npos) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule vocab_size_mismatch() {
  return {
      "vocab-size-mismatch",
      {{"table",
        "error*word_embeddings*expected (*got (|error*embed_tokens*expected (*got (|error*lm_head*expected (*got (|"
        "error*vocab size*differ|error*vocab size*match|error*vocab size*!=|error*vocab_size*!=|error*vocab*mismatch|"
        "error*wte*expected (*got (|error*output_layer*expected (*got ("},
       {"tensor",
        "size of tensor a (|shape mismatch|sizes do not match|size mismatch|cannot copy*shape"
        "|shape of tensor|expected shape"},
       {"vocab", "vocab|embed_tokens|lm_head|resize_token|word_embeddings|wte|tokenizer|padding*multiple"},
       {"load", "load|resum|checkpoint"}},
      evaluate};
}

}  // namespace fx::knowledge
