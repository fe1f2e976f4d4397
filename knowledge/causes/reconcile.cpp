#include "knowledge/causes/reconcile.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/stall.h"
#include "knowledge/log/quantity.h"

namespace fx::knowledge {
namespace {

// Faults of a program that say nothing of the trainer when an inference engine beside it wrote all their proof.
constexpr std::array<std::string_view, 8> kOwnFaults{
    "illegal-memory-access", "embedding-index-out-of-range", "gpu-oom-model-load",    "gpu-oom-activations",
    "gpu-oom-logits",        "amp-dtype-mismatch",           "single-rank-exception", "gpu-oom-optimizer-step"};

bool by_engine(const LogLine& line) {
  const std::string actor = to_lower(line.head.actor);
  return matches_any("vllm|sglang|enginecore|rollout|llmactor", actor) && !matches_any("actorrollout", actor);
}

// The engine's own fault is the engine's crash, whatever its exception says.
void leave_to_engine(const Scene& scene, std::vector<Weighed>& claims) {
  const auto crashed = std::any_of(claims.begin(), claims.end(),
                                   [](const Weighed& row) { return row.rule->id == "rollout-engine-crashed"; });
  if (!crashed) return;
  for (auto& row : claims) {
    const bool own = std::find(kOwnFaults.begin(), kOwnFaults.end(), row.rule->id) != kOwnFaults.end();
    const bool all = std::all_of(row.claim.lines.begin(), row.claim.lines.end(),
                                 [&](int line) { return by_engine(scene.book.at(line)); });
    if (own && all) row.claim.score *= 0.5;
  }
}

// A rank that has failed closes its sockets: who then cannot reach it is its victim.
constexpr std::array<std::string_view, 5> kReach{"master-addr-unreachable", "network-path-blocked",
                                                 "nccl-wrong-socket-interface", "rdma-fabric-error",
                                                 "rendezvous-missing-workers"};

void leave_to_raiser(const Scene& scene, std::vector<Weighed>& claims) {
  for (auto& row : claims) {
    const bool reach = std::find(kReach.begin(), kReach.end(), row.rule->id) != kReach.end();
    if (!reach || row.claim.lines.empty()) continue;
    if (failed_before(scene, row.claim.lines.front())) row.claim.score *= 0.5;
  }
}

// Waiting in vain is no fault of the data, the save or the code where a rank had failed before.
constexpr std::array<std::string_view, 6> kWaits{"conditional-forward-desync",    "uneven-data-across-ranks",
                                                 "collective-on-subset-of-ranks", "slow-preprocessing-timeout",
                                                 "slow-checkpoint-timeout",       "nccl-timeout-undetermined"};

void leave_to_failure(const Scene& scene, std::vector<Weighed>& claims) {
  const auto stalls = stall_signs(scene);
  if (stalls.empty() || !failed_before(scene, stalls.front())) return;
  for (auto& row : claims) {
    if (std::find(kWaits.begin(), kWaits.end(), row.rule->id) != kWaits.end()) row.claim.score *= 0.5;
  }
}

// Faults that keep ranks from meeting are over once they have met.
constexpr std::array<std::pair<std::string_view, Meeting>, 5> kMeetings{
    {{"master-addr-unreachable", Meeting::kStore},
     {"rendezvous-port-in-use", Meeting::kStore},
     {"rendezvous-missing-workers", Meeting::kStore},
     {"network-path-blocked", Meeting::kTraining},
     {"nccl-wrong-socket-interface", Meeting::kTraining}}};

// Steps stand above the line, and no new start between them.
bool trained_before(const Scene& scene, int line) {
  const auto& book = scene.book;
  int step = -1;
  for (const auto& event : scene.steps) {
    if (event.line < line && book.at(event.line).log == book.at(line).log) step = event.line;
  }
  if (step < 0) return false;
  for (const char* start : {"shell", "restart", "met"}) {
    const auto& lines = book.find("core", start).lines;
    if (std::any_of(lines.begin(), lines.end(), [&](int at) { return at > step && at < line; })) return false;
  }
  return true;
}

void leave_behind(const Scene& scene, std::vector<Weighed>& claims) {
  for (auto& row : claims) {
    for (const auto& [id, meeting] : kMeetings) {
      // The complaint comes first in a claim; what else it shows may stand anywhere.
      if (id == row.rule->id && !row.claim.lines.empty() && met_after(scene, row.claim.lines.front(), meeting))
        row.claim.score *= 0.3;
      // Who has trained together for a while has found the others.
      if (id == row.rule->id && meeting == Meeting::kStore && !row.claim.lines.empty() &&
          trained_before(scene, row.claim.lines.front()))
        row.claim.score *= 0.3;
    }
  }
}

// Nothing failed and the steps go on to the end, or it says that it is done: what a warning or a word in it may mean is
// no fault. Only causes that need no failure to be seen remain.
constexpr std::array<std::string_view, 7> kSilent{
    "throughput-offload-bound",      "throughput-dataloader-bound", "throughput-interconnect-bound",
    "pretrained-weights-not-loaded", "labels-all-masked",           "non-finite-loss",
    "state-dict-prefix-mismatch"};

bool went_well(const Scene& scene) {
  const auto& book = scene.book;
  const bool failed = !scene.timeouts.empty() || !scene.exceptions.empty() || !scene.exits.empty() ||
                      !scene.status.empty() || book.find("core", "xid").count > 0 ||
                      book.mentions("terminate called after throwing") ||
                      std::any_of(scene.ooms.begin(), scene.ooms.end(), [](const GpuOom& oom) { return !oom.warning; });
  const bool stepped = !scene.steps.empty();
  if (failed) return false;
  if (stepped && (!scene.steps.back().loss_finite || tells_not_finite(book.at(scene.steps.back().line).low)))
    return false;
  if (!stepped && !book.find("core", "done")) return false;
  int done = stepped ? scene.steps.back().line : -1;
  for (const int line : book.find("core", "done").lines) done = std::max(done, line);
  // Words of a hang, a cancel or a kill behind the last sign of life.
  const auto stalls = stall_signs(scene);
  if (!stalls.empty() && stalls.back() >= done) return false;
  // A hang, then a command that starts it otherwise, and it runs: what was changed is the answer.
  const auto& shell = book.find("core", "shell").lines;
  for (const int hang : book.lines_matching("no step|no output|hang|stuck|freez", 16)) {
    if (std::any_of(shell.begin(), shell.end(), [&](int line) { return line > hang && line < done; })) return false;
  }
  const auto& trouble = book.find("core", "trouble").lines;
  return std::none_of(trouble.begin(), trouble.end(), [&](int line) {
    return line > done && book.at(line).log == book.at(done).log &&
           (matches_any("nccl warn", book.at(line).low) || !matches_any("warning|warn|[w", book.at(line).low));
  });
}

void leave_in_peace(const Scene& scene, std::vector<Weighed>& claims) {
  if (!went_well(scene)) return;
  // Who finishes without a word about speed does not ask for it.
  const bool finished = scene.book.find("core", "done").count > 0 &&
                        !scene.book.mentions("too slow|so slow|slower|why is|bottleneck|is idle|low mfu");
  for (auto& row : claims) {
    if (finished && matches_any("throughput-", row.rule->id)) row.claim.score *= 0.3;
    if (std::find(kSilent.begin(), kSilent.end(), row.rule->id) == kSilent.end()) row.claim.score *= 0.3;
  }
}

// Causes that show as something missing or slow: no line need complain.
bool needs_no_complaint(std::string_view id) {
  static constexpr std::array<std::string_view, 10> kQuiet{
      "async-save-process-group",      "weight-sync-deadlock",
      "slow-checkpoint-timeout",       "slow-preprocessing-timeout",
      "collective-on-subset-of-ranks", "conditional-forward-desync",
      "uneven-data-across-ranks",      "gpu-p2p-broken",
      "nccl-timeout-undetermined",     "rank-to-gpu-mapping"};
  return std::find(kSilent.begin(), kSilent.end(), id) != kSilent.end() ||
         std::find(kQuiet.begin(), kQuiet.end(), id) != kQuiet.end();
}

bool sounds_bad(std::string_view low) {
  return refuses(low) ||
         matches_any(
             "warn|kill|down|lost|timed out|timeout|denied|refused|terminat|abort|hang|nan|no such|not found|exhaust|"
             "invalid|illegal|corrupt|dumped|segfault|segmentation|signal|sig|exceed|too many|fatal|critical|bad |"
             "broken|stale|reset|unreach|out of|no space|full|disconnect|died|dead|exit|cancel|preempt|evict|xid|"
             "unable|not |missing|differ|wrong|unexpected|exception|traceback|crash|slow|stuck|waiting|ecc",
             low);
}

// Nothing failed, and no line of the proof complains: what a program says of its set-up.
void leave_uncomplained(const Scene& scene, std::vector<Weighed>& claims) {
  const auto& book = scene.book;
  const bool failed = !scene.timeouts.empty() || !scene.exceptions.empty() || !scene.exits.empty() ||
                      !scene.status.empty() || !scene.ooms.empty() || !stall_signs(scene).empty() ||
                      book.find("core", "xid").count > 0;
  if (failed) return;
  for (auto& row : claims) {
    const bool complains = std::any_of(row.claim.lines.begin(), row.claim.lines.end(),
                                       [&](int line) { return sounds_bad(book.at(line).low); });
    if (!complains && !needs_no_complaint(row.rule->id)) row.claim.score *= 0.3;
  }
}

// The failure of an earlier attempt comes first: what happened after the launcher's restart is another story.
void leave_to_first_attempt(const Scene& scene, std::vector<Weighed>& claims) {
  const auto& restarts = scene.book.find("core", "restart");
  if (!restarts) return;
  const auto before = [&](int line) { return line < restarts.first(); };
  const auto speaks_before = [&](const Weighed& row) {
    return std::any_of(row.claim.lines.begin(), row.claim.lines.end(), before);
  };
  const bool failed = std::any_of(scene.exceptions.begin(), scene.exceptions.end(), [&](const ExceptionEvent& event) {
    return before(event.line) && !is_echo(scene.book.at(event.line).low);
  });
  if (!failed) return;
  for (auto& row : claims) {
    if (!speaks_before(row)) row.claim.score *= 0.5;
  }
}

}  // namespace

const std::vector<Mark>& reconcile_marks() {
  static const std::vector<Mark> marks{
      {"done",
       "training complete|training finished|finished training|train_runtime|exit code 0|exits successfully|successfully "
       "finished|training done|max_epochs|max_steps|saved final|job finished|stopped: `max|final validation|run finished|run complete"},
      {"trouble",
       "cancelled|preempt|killed|sigterm|sighup|signal 1|evicted|terminated|time limit|oom-kill|died|aborted|no_available_worker|no available worker|nccl warn"},
      {"restart", "will restart worker group|restarting worker group|restart_count=1"},
  };
  return marks;
}

void reconcile(const Scene& scene, bool waits_count, std::vector<Weighed>& claims) {
  leave_to_engine(scene, claims);
  if (waits_count) leave_to_failure(scene, claims);
  leave_to_raiser(scene, claims);
  leave_behind(scene, claims);
  leave_to_first_attempt(scene, claims);
  leave_in_peace(scene, claims);
  leave_uncomplained(scene, claims);
}

}  // namespace fx::knowledge
