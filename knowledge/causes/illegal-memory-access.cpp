#include "knowledge/causes/cause.h"
#include "knowledge/log/xid_events.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("access")) return {};
  Claim out = claim(0.9, m("access"), 3);
  const auto faults = xid_lines(s.book, {13, 31, 43});
  for (std::size_t i = 0; i < faults.size() && i < 2; ++i) out.show(faults[i]);
  if (!faults.empty()) out.score = 0.94;
  if (m("hardware") || !xid_lines(s.book, {48, 63, 64, 74, 79, 94, 95}).empty()) out.score = 0.3;
  if (m("assert")) out.score = 0.4;
  return out.root(s.one_rank(m("access").lines));
}

}  // namespace

CauseRule illegal_memory_access() {
  return {"illegal-memory-access",
          {{"access",
            "illegal memory access|misaligned address|cuda_error_illegal_address|illegal instruction"
            "|unspecified launch failure|an illegal address|invalid program counter"
            "|out-of-range address|hardware stack error|invalid address space"},
           {"hardware", "fallen off the bus|uncorrectable ecc|gpu is lost"},
           {"assert", "device-side assert triggered|srcindex|n_classes"}},
          evaluate};
}

}  // namespace fx::knowledge
