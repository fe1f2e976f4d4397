#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out = claim_of_refusals(s, m("dtype").lines, 0.95);
  if (out.score == 0) return out;
  for (const int line : m("hint").lines) {
    if (out.lines.size() < 5 && s.book.at(line).low.find("file \"") == std::string::npos) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule fsdp_mixed_dtype() {
  return {"fsdp-mixed-dtype",
          {{"dtype",
            "flatten tensors with uniform dtype|uniform original parameter dtype|uniform dtype"
            "|expects uniform*dtype|flatten*same dtype|same dtype*flat"
            "|expected all parameters to have the same dtype|mixed*dtype*fsdp unit|all*dtype in*fsdp"
            "|uniform gradient dtype|uniform parameter dtype|same dtype for all parameters"
            "|cannot flatten*dtype"},
           {"hint", "dtype|torch_dtype|lora|adapter|quant_storage|bf16|load_in_4bit"}},
          evaluate};
}

}  // namespace fx::knowledge
