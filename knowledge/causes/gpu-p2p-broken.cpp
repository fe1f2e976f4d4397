#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

// NCCL recommends "iommu=pt" wherever it misses it.
bool iommu_on(const Scene& s, const MarkView& m) {
  const auto& lines = m("iommu").lines;
  return std::any_of(lines.begin(), lines.end(),
                     [&](int line) { return !matches_any("nccl warn|nccl info", s.book.at(line).low); });
}

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  const bool stalled =
      !stall_signs(s).empty() ||
      s.book.mentions(
          "hang|freez|stuck|no output|0 steps|spins|never finish|100 % gpu|gpu 100 %|nothing is printed|no step");
  const bool early = s.timeouts.empty() || !s.stepped_before(s.first_timeout());
  if (m("verify")) out.score = 0.9;
  if (m("cured") && stalled) out.score = early || iommu_on(s, m) ? 0.93 : 0.75;
  if (iommu_on(s, m) && (stalled || m("verify"))) out.score = std::max(out.score, m("route") ? 0.92 : 0.85);
  // Copies that fault or deliver wrong sums spoil whatever is trained with them.
  if (m("verify") && (m("cured") || iommu_on(s, m))) out.score = std::max(out.score, 0.95);
  if (out.score == 0 && m("route") && stalled && early) {
    const bool explained = s.desync.behind.size() > 0 || s.desync.differing.size() > 0 || !s.exceptions.empty();
    // Every log of NCCL names its routes: only a first collective that no rank gets through speaks against them.
    const bool everybody = s.desync.timed_out.size() >= static_cast<std::size_t>(std::max(2, s.world));
    out.score = explained ? 0.3 : everybody ? 0.66 : 0.49;
  }
  if (out.score == 0) return out;
  // What happens once it is switched off proves it.
  if (m("cured")) {
    const auto after = std::find_if(s.steps.begin(), s.steps.end(),
                                    [&](const StepEvent& step) { return step.line >= m("cured").first(); });
    if (after != s.steps.end()) out.show(after->line);
  }
  return out.show(m("cured"), 2).show(m("iommu"), 2).show(m("verify"), 2).show(m("route"), 3);
}

}  // namespace

CauseRule gpu_p2p_broken() {
  return {"gpu-p2p-broken",
          {{"cured",
            "iommu=off|iommu disabled|disabl*acs|nccl_p2p_disable=1|nccl_p2p_level=|p2p disabled*works|disable*p2p"},
           {"route",
            "via p2p|p2p/ipc|p2p/direct|p2p/cuda|cudaipcopenmemhandle|cuda p2p|peer access"
            "|peer-to-peer|peer to peer|simplep2p|p2pbandwidth|p2p*verif|gpudirect p2p"},
           {"iommu",
            "vt-d|intel_iommu=on|amd_iommu=on|iommu=on|acsctl|acs enabled|acs _|srcvalid+|iommu|vt-d|dmar:"
            "|amd-vi|io_page_fault"},
           {"verify", "fault addr|verification error|p2p*mismatch|p2p*corrupt|p2p*failed"},
           {"failed_init", "bandwidth*0.0"}},
          evaluate};
}

}  // namespace fx::knowledge
