#include "knowledge/causes/cause.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const auto& duplicate = m("duplicate");
  const auto& ordinal = m("ordinal");
  if (!duplicate && !ordinal) return {};
  Claim out = claim(duplicate ? 0.95 : m("visible") ? 0.93 : 0.75, duplicate ? duplicate : ordinal, 2);
  if (m("offbus")) out.score = 0.3;  // a device that died explains a missing ordinal
  // Only the warning about the barrier's guess of a device, nothing failed on it.
  const bool barrier_guess = !duplicate && matches_any("to perform barrier", s.book.at(ordinal.first()).low);
  if (barrier_guess) out.score = 0.2;
  for (const int line : m("visible").lines) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule rank_to_gpu_mapping() {
  return {"rank-to-gpu-mapping",
          {{"duplicate",
            "duplicate gpu detected|both on cuda device|multiple ranks*same device|same gpu*ranks"
            "|using the same device"},
           {"ordinal",
            "invalid device ordinal|invalid device id|device ordinal*out of range"
            "|cuda_error_invalid_device|device=*num_gpus=|please ensure that all devices"
            "|no cuda gpus are available|more processes than*gpu|device >= 0 && device < num_gpus"
            "|using gpu * to perform barrier"},
           {"visible",
            "cuda_visible_devices|nproc_per_node|nproc-per-node|ngpu=|num_processes|device_count"
            "|current_device|--gpus|gres=|gpus-per-task|gpu-bind"},
           {"offbus",
            "fallen off the bus|xid*79|gpu is lost|unable to determine the device handle"
            "|probe routine failed|ecc error"},
           {"lists", "nvidia-smi -l"}},
          evaluate};
}

}  // namespace fx::knowledge
