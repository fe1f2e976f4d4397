#include "tools/run_stall.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/process.h"

namespace fx::tools {
namespace {

constexpr double kUsualSteps = 10;
constexpr double kFewestSeconds = 30;  // a checkpoint or a busy disk holds up a run of short steps as long

std::string describe(char state) {
  switch (state) {
    case 'T':
      return "stopped by a signal";
    case 't':
      return "held by a debugger";
    default:
      return "waiting for a disk or device";
  }
}

std::string hint_for(const Stall& stall) {
  if (stall.held.empty()) {
    return "Every rank's process may run. stop_run makes the ranks write what they wait for into their logs; "
           "diagnose_failure reads that.";
  }
  const HeldRank& first = stall.held.front();
  if (first.state == 'T') return "kill -CONT " + std::to_string(first.pid) + " lets it go on.";
  if (first.state == 't') return "Detach the debugger from process " + std::to_string(first.pid) + ".";
  return "See what it waits for: dmesg, /proc/" + std::to_string(first.pid) +
         "/wchan; a file system or GPU that does not answer.";
}

}  // namespace

std::optional<Stall> stall_of(const RunEvents& events, const std::vector<RankProcess>& ranks, long long now_ms) {
  const Progress progress = progress_of(events);
  if (events.steps.empty() || events.finish || progress.step >= progress.steps) return std::nullopt;
  Stall out;
  out.idle_s = static_cast<double>(now_ms - events.recent.back().time_ms) / 1000.0;
  out.usual_step_s = progress.step_s;
  if (out.idle_s < std::max(kFewestSeconds, kUsualSteps * out.usual_step_s)) return std::nullopt;
  for (const auto& rank : ranks) {
    if (!rank.alive()) continue;
    const char state = process_state(static_cast<pid_t>(rank.pid));
    if (state == 'T' || state == 't' || state == 'D') out.held.push_back({rank.rank, rank.pid, state});
  }
  return out;
}

Json to_json(const Stall& stall) {
  Json held = Json::array();
  for (const auto& rank : stall.held) {
    held.push_back({{"rank", rank.rank}, {"pid", rank.pid}, {"state", describe(rank.state)}});
  }
  return {{"idle_s", stall.idle_s},
          {"usual_step_s", stall.usual_step_s},
          {"held_ranks", std::move(held)},
          {"hint", hint_for(stall)}};
}

}  // namespace fx::tools
