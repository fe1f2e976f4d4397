#include "tools/review_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "spec/fields.h"
#include "tools/machine_memory.h"
#include "tools/review_curves.h"
#include "tools/review_findings.h"
#include "tools/review_plan.h"
#include "tools/run_answer.h"
#include "tools/run_diagnosis.h"

namespace fx::tools {
namespace {

constexpr std::size_t kAllEvents = std::size_t{64} << 20;

struct Arguments {
  std::string run_id, path;
};

const Fields<Arguments>& argument_fields() {
  static const auto fields =
      Fields<Arguments>{}
          .add("run_id", &Arguments::run_id, "what launch_run returned")
          .add("path", &Arguments::path, "or the folder of a run: spec.json, events.jsonl, logs");
  return fields;
}

// A folder that the run store does not know, for example of another machine.
Result<RunRecord> record_of_folder(const std::string& path) {
  RunRecord run;
  run.folder = std::filesystem::absolute(path).lexically_normal();
  run.id = run.folder.filename().string();
  std::error_code code;
  if (!std::filesystem::exists(run.folder / kSpecFile, code)) {
    return invalid_argument("path", "no run folder (it holds no spec.json): " + quote_input(path),
                            "give the folder that launch_run named");
  }
  const RunEvents events = read_run_events(run.folder, 64 << 10);
  const auto ranks = read_ranks(run.folder);
  const bool alive = std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.alive(); });
  run.state = alive ? RunState::kRunning : RunState::kFailed;
  if (events.finish) run.state = events.finish->state == "stopped" ? RunState::kStopped : RunState::kSucceeded;
  if (run.state == RunState::kFailed) {
    run.diagnosis = to_text(to_json(diagnose_run(run.folder, static_cast<int>(ranks.size()))));
  }
  return run;
}

Result<RunRecord> find_run(const Arguments& arguments, RunService& runs) {
  if (!arguments.path.empty()) return record_of_folder(arguments.path);
  if (arguments.run_id.empty()) return invalid_argument("run_id", "is missing", "give run_id or path");
  if (contains(arguments.run_id, "/")) return record_of_folder(arguments.run_id);
  return runs.get(arguments.run_id);
}

std::string verdict_of(const RunRecord& run, const std::vector<Finding>& findings) {
  const auto has = [&](Severity severity) {
    return std::any_of(findings.begin(), findings.end(), [&](const auto& f) { return f.severity == severity; });
  };
  if (run.state == RunState::kFailed) return "failed";
  if (has(Severity::kError)) return "bad";
  if (!has_ended(run.state)) return "unfinished";
  return has(Severity::kWarning) ? "needs_a_look" : "good";
}

std::string sentence_of(const std::string& verdict, const RunRecord& run) {
  if (verdict == "failed") return run.reason.empty() ? "the run failed" : run.reason;
  if (verdict == "bad") return "the run's numbers show that its result is of no use";
  if (verdict == "unfinished") return "the run has not ended: this is a view of what is there so far";
  if (verdict == "needs_a_look") return "the run ended as asked; some numbers are worth a look";
  return "the run ended as asked and its numbers look right";
}

Result<Json> review(const Json& arguments, ToolContext& context) {
  const auto parsed = argument_fields().parse(arguments);
  if (!parsed) return parsed.error();
  const auto run = find_run(*parsed, context.runs);
  if (!run) return run.error();
  const auto text = read_file(run->folder / kSpecFile, 4 << 20);
  const auto spec = text ? parse_run_spec_text(*text) : Result<ParsedRunSpec>(text.error());
  if (!spec) return unavailable("the run's spec.json cannot be read: " + to_line(spec.error()));
  const RunEvents events = read_run_events(run->folder, kAllEvents);
  auto findings = review_events(events, spec->spec, machine_memory_bytes());
  Json comparison = plan_against_measured(spec->spec, events);
  for (auto& finding : plan_findings(comparison)) findings.push_back(std::move(finding));
  sort_findings(findings);
  const std::string verdict = verdict_of(*run, findings);
  const Progress progress = progress_of(events);
  Json out = {{"run_id", run->id}, {"state", to_string(run->state)}, {"verdict", verdict}};
  out["summary"] = sentence_of(verdict, *run);
  if (!run->reason.empty()) out["reason"] = run->reason;
  out["steps_done"] = progress.step;
  if (progress.steps > 0) out["steps"] = progress.steps;
  out["findings"] = fx::to_json(findings);
  out["planned_vs_measured"] = std::move(comparison);
  out["curves"] = review_curves(events);
  if (Json cause = brief_cause(*run); !cause.is_null()) out["cause"] = std::move(cause);
  if (events.finish && !events.finish->output.empty()) out["output"] = events.finish->output;
  out["folder"] = run->folder.string();
  return out;
}

}  // namespace

Tool review_run_tool() {
  Tool tool;
  tool.name = "review_run";
  tool.description =
      "Judges a run after it ended, or so far: whether the loss fell, speed was steady and memory sufficed, planned "
      "against measured memory and speed, curves, and the cause of a failure.";
  tool.input_schema = to_text(schema_of(argument_fields().infos()));
  tool.handler = review;
  return tool;
}

}  // namespace fx::tools
