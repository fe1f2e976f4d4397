#include <algorithm>

#include "base/text.h"
#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("who") || !m("trainer")) return {};
  // Errors in lines that the engine itself wrote.
  std::vector<int> own;
  for (const auto& exception : s.exceptions) {
    const auto& line = s.book.at(exception.line);
    const std::string actor = to_lower(line.head.actor);
    const bool by_engine =
        (matches_any("vllm|sglang|engine|rollout|server", actor) && !matches_any("actorrollout", actor)) ||
        matches_any("vllm|sglang|[server]|enginecore|(engine", line.low.substr(0, 60));
    const bool framed = std::any_of(exception.frames.begin(), exception.frames.end(),
                                    [&](int frame) { return matches_any("/vllm/|/sglang/", s.book.at(frame).low); });
    // A collective that fails in an engine inside the trainer is the ranks' affair.
    const bool collective = matches_any("hccl|nccl", exception.message);
    if ((by_engine || framed) && !collective) own.push_back(exception.line);
  }
  Claim out;
  if (m("dead")) out.score = own.empty() ? 0.72 : 0.88;
  if (out.score == 0 && !own.empty()) out.score = 0.72;
  if (out.score == 0) return out;
  if (s.book.mentions(
          "update_weights*failed|_load_w13|_load_w2|weight_loader|failed to update parameter|attempted to load weight|no module or parameter named|incoming shape|weights*partially updated|killed due to high memory|node running low on memory"))
    out.score = 0.45;
  if (s.book.mentions("safetensorerror|headertoolarge|metadataincomplete|huggingface.co"))
    out.score = std::min(out.score, 0.55);
  for (const int line : own) {
    if (out.lines.size() < 3) out.show(line);
  }
  return out.show(m("dead"), 3);
}

}  // namespace

CauseRule rollout_engine_crashed() {
  return {
      "rollout-engine-crashed",
      {{"dead",
        "enginecore hit an exception|fatal signal from worker|retries exceeded*/generate|engine core initialization failed|enginedeaderror|engine*died|engine process*exit"
        "|engine*crash|scheduler hit an exception|server*not healthy|health check failed"
        "|server process*exit|server*terminated|rollout*crashed|rollout*failed"
        "|generation server*down|enginecore*error|enginecore*fatal|worker*died*vllm|vllm*died"
        "|sglang*exited|server is dead|engine is dead|server disconnected|launch*server*timeout"
        "|server*failed to start|server exited|detokenizer*exception|asyncenginedead"
        "|engine loop has died|sigquit received|connection refused*generate"
        "|cannot connect to host|no_available_worker|no available worker|503 service unavailable*generate"},
       {"who", "vllm|sglang|engine|rollout|generation server"},
       {"trainer",
        "workerdict|rolloutmanager|agentloop|trainrayactor|trainer|taskrunner|[rank|actor|fsdp|grpo|ppo|train"}},
      evaluate};
}

}  // namespace fx::knowledge
