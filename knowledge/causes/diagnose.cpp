#include "knowledge/causes/diagnose.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/causes/catalogue.h"
#include "knowledge/causes/config_check.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/engine_run.h"
#include "knowledge/causes/harmless.h"
#include "knowledge/causes/reconcile.h"
#include "knowledge/log/field_reader.h"
#include "knowledge/log/log_reader.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kEvidenceLines = 8;
constexpr std::size_t kCauses = 5;
constexpr double kLeastScore = 0.3;
constexpr double kPhrasesOnly = 0.35;  // what phrases lose against the exact word of our engine's ranks

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
    // The exception's own line above the list that goes with it.
    for (int above = scene.book.above(line), left = 12; above >= 0 && left > 0;
         above = scene.book.above(above), --left) {
      const auto body = scene.book.at(above).low_body();
      if (scene.exception_at(above) == nullptr && trim(body).size() < body.size()) continue;
      if (scene.exception_at(above) != nullptr && scene.exception_at(line) == nullptr) add(above);
      break;
    }
    for (const auto& exception : scene.exceptions) {
      if (std::find(exception.frames.begin(), exception.frames.end(), line) != exception.frames.end())
        add(exception.line);
    }
  }
  return out;
}

// Lines that no rank wrote: one names the rank in its text, or NCCL's device tells it on a single host, or one process
// alone was killed.
std::optional<int> unspoken_root(const Scene& scene, const Claim& claim) {
  const auto& book = scene.book;
  std::set<int> named, devices, all_devices;
  std::set<std::string> hosts;
  for (const int line : claim.lines) {
    if (const auto rank = integer_after(book.at(line).low, " on rank "); rank && *rank >= 0 && *rank < 1000000)
      named.insert(static_cast<int>(*rank));
    if (book.at(line).head.local_rank >= 0) devices.insert(book.at(line).head.local_rank);
  }
  if (named.size() == 1) return *named.begin();
  for (const auto& line : book.lines) {
    if (line.head.local_rank >= 0) all_devices.insert(line.head.local_rank), hosts.insert(line.head.host);
  }
  if (devices.size() == 1 && all_devices.size() > 1 && hosts.size() == 1) return *devices.begin();
  const bool raised = std::any_of(scene.exceptions.begin(), scene.exceptions.end(),
                                  [&](const ExceptionEvent& event) { return !is_echo(book.at(event.line).low); });
  const int own = raised ? -1 : scene.failed_by_itself();
  return own >= 0 ? std::optional<int>(own) : std::nullopt;
}

// Where a claim leaves it open: the rank that failed alone, if no other rank's line is part of the proof.
std::optional<int> root_of(const Scene& scene, const Claim& claim) {
  if (claim.root_rank) return claim.root_rank;
  const auto lone = lone_raiser(scene);
  const auto speaking = scene.book.ranks_of(claim.lines);
  const bool own = std::all_of(speaking.begin(), speaking.end(), [&](int rank) { return rank == lone; });
  if (lone && own) return lone;
  return speaking.empty() ? unspoken_root(scene, claim) : std::nullopt;
}

Cause cause_of(const Scene& scene, const Weighed& weighed, double confidence) {
  const Page& page = cause_page(weighed.rule->id);
  Cause out;
  out.id = weighed.rule->id;
  out.confidence = std::round(confidence * 100) / 100;
  out.root_rank = root_of(scene, weighed.claim);
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
  reconcile(scene, !own, out);
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
  const bool any_program = !ranked.empty() && ranked.front().rule->id == "single-rank-exception" &&
                           !scene.scope.training && scene.ranks.empty();
  if (any_program) {
    out.verdict = Verdict::kNotApplicable;
    out.reason = "An exception of some program; no line tells of a trainer, of ranks or of a sharded checkpoint.";
    return out;
  }
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
