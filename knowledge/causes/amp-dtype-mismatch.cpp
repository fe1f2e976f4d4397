#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("dtype") || m("wrap")) return {};
  std::vector<int> errors;
  for (const int line : m("dtype").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any("error|exception|assert", low) && low.find("file \"") == std::string::npos) errors.push_back(line);
  }
  Claim out;
  if (errors.empty()) return out;
  out.score = 0.93;
  for (const int line : errors) {
    if (out.lines.size() < 3) out.show(line);
  }
  for (const int line : m("setting").lines) {
    if (out.lines.size() < 5 && line < errors.front() && s.book.at(line).low.find("file \"") == std::string::npos)
      out.show(line);
  }
  std::vector<int> unscale = s.book.lines_matching("param_groups*dtype", 1);
  for (const int line : unscale) out.show(line);
  return out.root(s.one_rank(errors));
}

}  // namespace

CauseRule amp_dtype_mismatch() {
  return {
      "amp-dtype-mismatch",
      {{"dtype",
        "to have the same dtype|no inf checks were recorded|must have the same dtype|expected scalar type"
        "|attempting to unscale fp16|attempting to unscale bfloat16|expected dtype"
        "|but found dtype|input type*weight type|input type (*bias type"
        "|query, key, and value to have the same dtype|same dtype*source|found dtype"
        "|dtype mismatch|dtypes to match|must match*dtype|dtype of*does not match"
        "|not implemented for 'half'|not implemented for 'bfloat16'|unscale_*half"
        "|only support fp16 and bf16|only support*bf16|cuda_type*expected"
        "|value cannot be converted to type at::half|mat1 and mat2 must have the same dtype"
        "|self and mat2*dtype|tensor for argument*type|dtypes match, got|assign a gradient with dtype|gradient and the tensor have the same dtype|grad*dtype*differs|expected tensor*half"},
       {"setting", "bf16|fp16|mixed_precision|autocast|torch_dtype|dtype|half"},
       {"wrap", "uniform dtype|uniform original parameter dtype|same index must be on the same device"}},
      evaluate};
}

}  // namespace fx::knowledge
