#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene&, const MarkView& m) {
  if (!m("mix")) return {};
  Claim out = claim(0.93, m("mix"), 3);
  return out.show(m("bypass"), 2);
}

}  // namespace

CauseRule dtensor_tensor_mix() {
  return {
      "dtensor-tensor-mix",
      {{"mix",
        "got mixed torch.tensor and dtensor|mixed torch.tensor and dtensor|mixed*dtensor"
        "|dtensor*different device mesh|dtensor*different mesh|dtensor*plain tensor|convert all torch.tensor to dtensor|expected dtensor"
        "|is not a dtensor|dtensor*but got*tensor"},
       {"bypass", "encode(|.generate(|.module.|get_input_embeddings|bypass|directly|resharded"}},
      evaluate};
}

}  // namespace fx::knowledge
