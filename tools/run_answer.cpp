#include "tools/run_answer.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "spec/fields.h"
#include "tools/run_stall.h"

namespace fx::tools {
namespace {

constexpr std::size_t kEventTail = 128 << 10;
constexpr auto kPause = std::chrono::milliseconds(50);

const Fields<RunArguments>& argument_fields() {
  static const auto fields =
      Fields<RunArguments>{}
          .add("run_id", &RunArguments::run_id, "what launch_run returned")
          .required()
          .add("wait_s", &RunArguments::wait_s, "wait up to this many seconds for a change of state (default 0)")
          .min(0)
          .max(kMaxWaitSeconds);
  return fields;
}

template <class Enough>
Result<RunRecord> wait_until(RunService& runs, const RunArguments& arguments, Enough enough) {
  const auto until = monotonic_millis() + static_cast<std::int64_t>(arguments.wait_s * 1000);
  auto run = runs.get(arguments.run_id);
  if (!run) return run;
  const RunState first = run->state;
  while (!has_ended(run->state) && !enough(first, run->state) && monotonic_millis() < until) {
    std::this_thread::sleep_for(kPause);
    run = runs.get(arguments.run_id);
    if (!run) return run;
  }
  return run;
}

Json ranks_of(const std::vector<RankProcess>& ranks, const RunEvents& events, bool ended) {
  Json out = Json::array();
  for (const auto& rank : ranks) {
    Json row = {{"rank", rank.rank}, {"pid", rank.pid}, {"alive", !ended && rank.alive()}};
    const auto index = static_cast<std::size_t>(rank.rank);
    if (!events.steps.empty() && index < events.steps.back().peak_bytes.size()) {
      row["peak_bytes"] = events.steps.back().peak_bytes[index];
    }
    if (!rank.ending.empty()) row["ending"] = rank.ending;
    out.push_back(std::move(row));
  }
  return out;
}

// What a running run is busy with, as far as its folder tells.
std::string phase_of(const RunRecord& run, const RunEvents& events) {
  if (run.state != RunState::kRunning) return std::string(to_string(run.state));
  std::error_code code;
  if (events.finish || (events.start && !events.steps.empty() && events.steps.back().step >= events.start->steps)) {
    return "saving";
  }
  if (!events.steps.empty()) return "training";
  return std::filesystem::exists(run.folder / kRanksFile, code) ? "loading the model" : "preparing the data";
}

void add_step(Json& out, const RunEvents& events) {
  const StepEvent& step = events.steps.back();
  // A NaN becomes null in JSON: the loss is then truly not a number.
  out["loss"] = step.loss;
  out["grad_norm"] = step.grad_norm;
  out["lr"] = step.lr;
  out["comm_ms"] = step.comm_ms;
}

}  // namespace

std::string run_arguments_schema() {
  return to_text(schema_of(argument_fields().infos()));
}

Result<RunArguments> parse_run_arguments(const Json& arguments) {
  return argument_fields().parse(arguments);
}

Result<RunRecord> wait_for_change(RunService& runs, const RunArguments& arguments) {
  return wait_until(runs, arguments, [](RunState first, RunState now) { return first != now; });
}

Result<RunRecord> wait_for_end(RunService& runs, const RunArguments& arguments) {
  return wait_until(runs, arguments, [](RunState, RunState) { return false; });
}

Json brief_cause(const RunRecord& run) {
  const auto diagnosis = run.diagnosis.empty() ? Result<Json>(internal_error("none")) : parse_json(run.diagnosis);
  if (!diagnosis || !diagnosis->contains("causes") || (*diagnosis)["causes"].empty()) return nullptr;
  return (*diagnosis)["causes"].front();
}

Json run_answer(const RunRecord& run) {
  const RunEvents events = read_run_events(run.folder, kEventTail);
  const Progress progress = progress_of(events);
  const bool ended = has_ended(run.state);
  Json out = {{"run_id", run.id}, {"state", to_string(run.state)}, {"phase", phase_of(run, events)}};
  if (!run.reason.empty()) out["reason"] = run.reason;
  out["step"] = progress.step;
  if (progress.steps > 0) out["steps"] = progress.steps;
  if (!events.steps.empty()) add_step(out, events);
  out["tokens_per_s"] = progress.tokens_per_s;
  if (progress.eta_s && !ended) out["eta_s"] = *progress.eta_s;
  if (run.started_ms > 0) {
    out["elapsed_s"] = static_cast<double>((ended ? run.ended_ms : unix_millis()) - run.started_ms) / 1000.0;
  }
  const auto ranks = read_ranks(run.folder);
  if (run.state == RunState::kRunning) {
    if (const auto stall = stall_of(events, ranks, unix_millis())) out["stalled"] = to_json(*stall);
  }
  out["ranks"] = ranks_of(ranks, events, ended);
  out["events"] = Json::array();
  for (const auto& event : events.recent) out["events"].push_back(to_json(event));
  if (Json cause = brief_cause(run); !cause.is_null()) out["cause"] = std::move(cause);
  out["folder"] = run.folder.string();
  return out;
}

}  // namespace fx::tools
