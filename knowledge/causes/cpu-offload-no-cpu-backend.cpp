#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("backend")) return {};
  Claim out = claim(m("offload") ? 0.95 : 0.82, m("backend"), 2);
  // The background save has the same complaint: then its process group is at fault.
  if (m("async") && !s.book.mentions("clip_grad|cpu_offload|cpuoffload")) out.score = 0.4;
  for (const int line : m("offload").telling) {
    if (out.lines.size() < 5) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule cpu_offload_no_cpu_backend() {
  return {
      "cpu-offload-no-cpu-backend",
      {{"backend",
        "no backend type associated with device type cpu|no backend*device type cpu"
        "|tensors must be cuda and dense|backend nccl does not support cpu"
        "|processgroupnccl*cpu tensor|nccl*only supports*cuda|no backend for*cpu"
        "|backend*not support*device*cpu|requires*backend*cpu|_validate_cpu_offload_params|backend*supporting cpu|backend "
        "that supports cpu"},
       {"offload", "offload|cpuoffload|cpu_offload|clip_grad|grad_norm"},
       {"async",
        "async_save|async save|_async_thread|_async_process|ckpt-async|exception in thread|asynccheckpoint|background|ckpt-thread|checkpoint thread"
        "|async_checkpoint"}},
      evaluate};
}

}  // namespace fx::knowledge
