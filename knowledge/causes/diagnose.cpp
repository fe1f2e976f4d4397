#include "knowledge/causes/diagnose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/causes/catalogue.h"
#include "knowledge/causes/config_check.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/engine_run.h"
#include "knowledge/causes/harmless.h"
#include "knowledge/log/log_reader.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kEvidenceLines = 8;
constexpr std::size_t kCauses = 5;
constexpr double kLeastScore = 0.3;
constexpr double kPhrasesOnly = 0.35;  // what phrases lose against the exact word of our engine's ranks

struct Weighed {
  const CauseRule* rule = nullptr;
  Claim claim;
};

EvidenceLine evidence_of(const Scene& scene, int index) {
  const auto& line = scene.book.at(index);
  EvidenceLine out;
  if (scene.book.logs.size() > 1) out.log = quote_input(scene.book.logs[static_cast<std::size_t>(line.log)], 120);
  out.line = line.number;
  out.text = harmless(quote_input(mask_secrets(line.text), 300));
  return out;
}

std::string first_sentence(const std::string& text) {
  const std::string flat = replace_all(std::string(trim(text)), "\n", " ");
  const auto end = flat.find(". ");
  return end == std::string::npos ? flat : flat.substr(0, end + 1);
}

// A frame proves little without the exception that it led to.
std::vector<int> with_exceptions(const Scene& scene, const std::vector<int>& lines) {
  std::vector<int> out;
  const auto add = [&](int line) {
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
  };
  for (const int line : lines) {
    add(line);
    for (const auto& exception : scene.exceptions) {
      if (std::find(exception.frames.begin(), exception.frames.end(), line) != exception.frames.end())
        add(exception.line);
    }
  }
  return out;
}

Cause cause_of(const Scene& scene, const Weighed& weighed, double confidence) {
  const Page& page = cause_page(weighed.rule->id);
  Cause out;
  out.id = weighed.rule->id;
  out.confidence = std::round(confidence * 100) / 100;
  out.root_rank = weighed.claim.root_rank;
  out.summary = weighed.claim.summary.empty() ? first_sentence(page.section("what")) : weighed.claim.summary;
  for (const int line : with_exceptions(scene, weighed.claim.lines)) {
    if (out.evidence.size() < kEvidenceLines) out.evidence.push_back(evidence_of(scene, line));
  }
  out.first_step = replace_all(std::string(trim(page.section("first step"))), "\n", " ");
  out.next_steps = list_items(page.section("next steps"));
  out.sources = page.sources;
  return out;
}

// A close second makes the first less sure.
double confidence_of(const std::vector<Weighed>& ranked, std::size_t index) {
  double score = std::min(0.97, ranked[index].claim.score);
  // Measured on logs that no predicate was written for: what scores less than 0.9 is right less often than it says.
  if (score < 0.9) score *= 0.88;
  if (index > 0) return std::min(score, 1 - std::min(0.97, ranked[0].claim.score) + 0.1) * 0.9;
  if (ranked.size() < 2) return score;
  const double gap = ranked[0].claim.score - ranked[1].claim.score;
  return gap >= 0.1 ? score : score * (0.85 + 1.5 * std::max(0.0, gap));
}

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

// Waiting in vain is no fault of the data, the save or the code where a rank had failed before.
constexpr std::array<std::string_view, 6> kWaits{"conditional-forward-desync",    "uneven-data-across-ranks",
                                                 "collective-on-subset-of-ranks", "slow-preprocessing-timeout",
                                                 "slow-checkpoint-timeout",       "nccl-timeout-undetermined"};

void leave_to_failure(const Scene& scene, std::vector<Weighed>& claims) {
  const auto& stalls = scene.book.find("core", "stall");
  if (!stalls || !failed_before(scene, stalls.first())) return;
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

void leave_behind(const Scene& scene, std::vector<Weighed>& claims) {
  for (auto& row : claims) {
    for (const auto& [id, meeting] : kMeetings) {
      // The complaint comes first in a claim; what else it shows may stand anywhere.
      if (id == row.rule->id && !row.claim.lines.empty() && met_after(scene, row.claim.lines.front(), meeting))
        row.claim.score *= 0.3;
    }
  }
}

std::vector<Weighed> weigh(const Scene& scene) {
  std::vector<Weighed> out;
  const auto own = judge_engine_run(scene);
  for (const auto& rule : cause_rules()) {
    Claim found = rule.evaluate(scene, MarkView(scene.book, rule.id));
    found.score *= config_factor(rule.id, scene);
    if (own && own->cause == rule.id) {
      found = own->claim;
    } else if (own && own->certain) {
      found.score = std::min(found.score, own->claim.score - kPhrasesOnly);
    }
    if (found.score >= kLeastScore) out.push_back({&rule, std::move(found)});
  }
  leave_to_engine(scene, out);
  if (!own) leave_to_failure(scene, out);
  leave_behind(scene, out);
  out.erase(std::remove_if(out.begin(), out.end(), [](const Weighed& row) { return row.claim.score < kLeastScore; }),
            out.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Weighed& a, const Weighed& b) { return a.claim.score > b.claim.score; });
  return out;
}

}  // namespace

Scene read_scene(std::span<const NamedLog> logs, const JobConfig& config) {
  LogReader reader(cause_marks());
  for (const auto& log : logs) {
    reader.begin(log.name);
    reader.feed(log.text);
  }
  return make_scene(reader.finish(), config);
}

Diagnosis diagnose(const Scene& scene) {
  Diagnosis out;
  if (!scene.scope.applicable && !judge_engine_run(scene)) {
    out.verdict = Verdict::kNotApplicable;
    out.reason =
        "This text does not come from a distributed training job or from a sharded checkpoint. Give the job's own "
        "output: every "
        "rank's stderr, the launcher's summary, and dmesg of the nodes if a process was killed.";
    return out;
  }
  const auto ranked = weigh(scene);
  if (ranked.empty()) {
    out.verdict = Verdict::kNoFailureFound;
    out.reason =
        "No line shows a failure; warnings in it need no repair. If the job did stop, give the lines after the last "
        "step.";
    return out;
  }
  out.verdict = Verdict::kFailure;
  for (std::size_t i = 0; i < ranked.size() && i < kCauses; ++i) {
    out.causes.push_back(cause_of(scene, ranked[i], confidence_of(ranked, i)));
  }
  out.reason = out.causes.front().summary;
  return out;
}

Diagnosis diagnose(std::span<const NamedLog> logs, const JobConfig& config) {
  return diagnose(read_scene(logs, config));
}

}  // namespace fx::knowledge
