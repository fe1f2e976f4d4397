#include <algorithm>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const auto usable = [&](const Hits& hits) {
    std::vector<int> out;
    for (const int line : hits.lines) {
      const auto& low = s.book.at(line).low;
      if (matches_any("cannot allocate memory|nccl info", low) &&
          !matches_any("port error|got completion|got async|link down", low))
        continue;
      if (matches_any(
              "symbol errors 0|symbol errors: 0|symbol errors=0|port state: active|port state active|port state: 4",
              low))
        continue;
      out.push_back(line);
    }
    return out;
  };
  const auto completion = usable(m("completion")), event = usable(m("event")), setup = usable(m("setup"));
  Claim out;
  if (!event.empty()) out.score = 0.93;
  if (!completion.empty()) out.score = std::max(out.score, 0.88);
  if (!setup.empty() && s.book.mentions("warn*ibv_|error*ibv_|ibv_*failed|failed*ibv_|gid|no active port"))
    out.score = std::max(out.score, 0.85);
  if (out.score == 0) return out;
  // A completion error towards a peer that had failed before is an echo of that peer.
  const int first = !event.empty() ? event.front() : !completion.empty() ? completion.front() : setup.front();
  const bool peer_failed =
      std::any_of(s.exceptions.begin(), s.exceptions.end(),
                  [&](const ExceptionEvent& exception) {
                    return exception.line < first &&
                           !matches_any("distbackend|nccl|connection", s.book.at(exception.line).low);
                  }) ||
      s.book.mentions("nvrm: xid|fallen off the bus|oom-kill|killed process|killed due to memory pressure");
  if (peer_failed && event.empty()) out.score = 0.35;
  for (const auto* lines : {&event, &completion, &setup}) {
    for (std::size_t i = 0; i < lines->size() && i < 3; ++i) out.show((*lines)[i]);
  }
  return out;
}

}  // namespace

CauseRule rdma_fabric_error() {
  return {
      "rdma-fabric-error",
      {{"completion",
        "got completion*with status|net/ofi*completed with error|net/ofi*couldn't|fi_cq_readerr|prov_errno|efa*handshake|got completion from peer|work completion*error|wc status"
        "|completion with error|transport retry counter exceeded|retry exceeded|ibv_wc_"
        "|ibv_poll_cq"},
       {"event",
        "got async event|port error|local_event|port down|link down|link_downed|lid change"
        "|port state|symbol errors|port flap|qp fatal|link flap|gid table change|lost carrier"
        "|link became down|carrier lost"},
       {"setup",
        "ibv_modify_qp|ibv_create_qp|ibv_open_device|ibv_query_gid|ibv_alloc_pd|ibv_get_device"
        "|wrong gid|gid index|nccl_ib_gid_index|invalid gid|no such device*mlx|mlx*no active port"
        "|failed to modify qp|no ib device|unable to open*mlx|ibstat"},
       {"limit", "ibv_reg_mr|cannot allocate memory|memlock"}},
      evaluate};
}

}  // namespace fx::knowledge
