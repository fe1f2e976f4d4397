#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const Stall stall = find_stall(s);
  if (!m("sync") || !m("engine") ||
      (!stall.any &&
       !s.book.mentions(
           "hang|stuck|deadlock|blocked|(waiting)|timed out after|get timed out|gettimeouterror|no response|never returned") &&
       !m("stacks")))
    return {};
  Claim out;
  out.score = 0.92;
  if (s.book.mentions("failed to update parameter|out of range|shape mismatch|size mismatch|shape*param shape"))
    out.score = 0.4;
  if (s.book.mentions(
          "enginecore hit an exception|enginecore*fatal|fatal signal from worker|retries exceeded*/generate|engine core initialization failed|enginedeaderror|engine*died|server*crashed|scheduler hit an exception") ||
      !s.ooms.empty())
    out.score = 0.45;
  if (s.book.mentions("saving*checkpoint") &&
      !s.book.mentions("send_weights|update_weights|weight sync|weight transfer"))
    out.score = 0.4;
  for (const int line : m("sync").telling) {
    if (out.lines.size() < 4) out.show(line);
  }
  for (const int line : m("wait").lines) {
    if (out.lines.size() < 6 && !matches_any("watchdog", s.book.at(line).low)) out.show(line);
  }
  for (const int line : s.desync.lines) out.show(line);
  for (std::size_t i = 0; i < stall.signs.size() && out.lines.size() < 8; ++i) out.show(stall.signs[i]);
  const int suspect = s.desync.suspect();
  if (suspect >= 0 && !s.desync.behind.empty()) return out.root(suspect);
  const auto speaking = s.book.ranks_of(m("sync").lines);
  return out.root(speaking.size() == 1 ? std::optional<int>(*speaking.begin()) : std::nullopt);
}

}  // namespace

CauseRule weight_sync_deadlock() {
  return {
      "weight-sync-deadlock",
      {{"sync",
        "pushing policy|pushing weights|pushing params|sending weights|sending policy|sending params|syncing policy|syncing weights|"
        "publish*weights|broadcasting*weights|broadcasting policy|init_broadcaster|weights_update_group|weights to * engine|weights "
        "to * server|policy to * server|policy to * engine|update_weights|weight sync|weight update|weight transfer|sync_weights|sync weights"
        "|weight_update|init_weight|update weights|broadcast*weight|push*weights|param*sync"
        "|weight_sync|update_named_param|collective_rpc|load_weights|transfer group"
        "|reload weights|update_weight"},
       {"engine", "vllm|sglang|engine|[server]|rollout|inference server|generation server"},
       {"wait", "waiting|hang|stuck|timed out|timeout|no response|blocked|never|queued"},
       {"stacks", "py-spy|thread 0x|most recent call first|gdb"},
       {"shape", "shape|start out of range|failed to update parameter|keyerror|not found in params"},
       {"died", "died|crashed|engine core initialization failed|enginedead|out of memory|actordied"}},
      evaluate};
}

}  // namespace fx::knowledge
