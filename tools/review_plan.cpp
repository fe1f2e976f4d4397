#include "tools/review_plan.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "knowledge/plan/plan.h"
#include "tools/review_findings.h"

namespace fx::tools {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

double rounded(double value, double parts) {
  return std::round(value * parts) / parts;
}

// In the planner's words.
const char* checkpointing_of(ActivationCheckpointing value) {
  return value == ActivationCheckpointing::kFull        ? "full"
         : value == ActivationCheckpointing::kSelective ? "selective-layer"
                                                        : "none";
}

// Packs hold several documents, and attention stays inside them.
double tokens_of_document(const RunSpec& spec, const RunEvents& events) {
  if (!events.start || events.start->documents <= 0 || events.start->packs <= 0) return 0;
  return static_cast<double>(spec.data.max_seq_len * events.start->packs) /
         static_cast<double>(events.start->documents);
}

Json plan_arguments(const RunSpec& spec, Json config) {
  const long long micro_batch = std::max<long long>(1, spec.packs_per_micro_batch());
  const long long packs_at_once = micro_batch * spec.ranks;
  const char* sharding = spec.ranks == 1 ? "none" : spec.fsdp.replicate > 1 ? "hsdp" : "fsdp2";
  Json training = {{"method", "full"},
                   {"seq_len", spec.data.max_seq_len},
                   {"micro_batch", micro_batch},
                   {"grad_accum", (spec.global_batch_size + packs_at_once - 1) / packs_at_once},
                   {"param_dtype", spec.fsdp.param_dtype},
                   {"reduce_dtype", spec.fsdp.reduce_dtype},
                   {"optimizer", "adamw"},
                   {"sharding", sharding},
                   {"reshard_after_forward", spec.fsdp.reshard_after_forward.free_after_forward},
                   {"cpu_offload", spec.fsdp.cpu_offload},
                   {"activation_checkpointing", checkpointing_of(spec.fsdp.activation_checkpointing)}};
  if (spec.lora) {
    training["method"] = "lora";
    training["lora_rank"] = spec.lora->rank;
    training["lora_targets"] = adapted_modules(*spec.lora);
  }
  if (spec.fsdp.replicate > 1) training["shard_size"] = spec.fsdp.shard;
  return {{"model", std::move(config)},
          {"hardware", {{"gpu", "CPU"}, {"gpus_per_node", spec.ranks}, {"nodes", 1}}},
          {"training", std::move(training)}};
}

Json no_comparison(const std::string& reason) {
  return {{"reason", reason}};
}

}  // namespace

Json plan_against_measured(const RunSpec& spec, const RunEvents& events) {
  if (events.steps.empty()) return no_comparison("no step was done");
  if (events.start && events.start->backend == "nccl") return no_comparison("the plan needs the name of the GPU");
  const auto text = read_file(std::filesystem::path(spec.model) / "config.json", 1 << 20);
  if (!text) return no_comparison("the model's config.json cannot be read: " + text.error().message);
  auto config = parse_json(*text);
  if (!config) return no_comparison("the model's config.json cannot be read: " + config.error().message);
  Json asked = plan_arguments(spec, std::move(*config));
  // The machine as it was measured when the run began, where the engine says so.
  if (const double tokens = tokens_of_document(spec, events); tokens >= 1) asked["data"]["document_tokens"] = tokens;
  const double measured_rate = events.start ? events.start->product_gflops : 0;
  if (measured_rate > 0) asked["hardware"]["gpu_tflops"] = measured_rate / 1000;
  const auto arguments = knowledge::plan::plan_fields().parse(asked);
  if (!arguments) return no_comparison("no plan: " + to_line(arguments.error()));
  const auto plan = knowledge::plan::make_plan(*arguments);
  if (!plan) return no_comparison("no plan: " + to_line(plan.error()));
  const auto& memory = plan->chosen.memory;
  const double peak = peak_rank_bytes(events);
  const double speed = plan->chosen.speed.tokens_per_s * plan->machine.world();
  const double measured_speed = steady_tokens_per_s(events);
  Json out = Json::object();
  out["memory_gib"] = {{"planned", rounded(memory.allocated / kGib, 100)}, {"low", rounded(memory.low / kGib, 100)},
                       {"high", rounded(memory.high / kGib, 100)},         {"measured", rounded(peak / kGib, 100)},
                       {"ratio", rounded(peak / memory.allocated, 100)},   {"what", "peak of the largest rank"}};
  out["tokens_per_s"] = {{"planned", rounded(speed, 10)},
                         {"measured", rounded(measured_speed, 10)},
                         {"ratio", rounded(measured_speed / speed, 100)},
                         {"what", "all ranks, median step"}};
  return out;
}

std::vector<Finding> plan_findings(const Json& comparison) {
  std::vector<Finding> out;
  if (!comparison.contains("memory_gib")) return out;
  const auto add = [&](const char* rule, Severity severity, std::string message, std::string fix) {
    Finding finding;
    finding.rule = rule;
    finding.severity = severity;
    finding.message = std::move(message);
    finding.fix = std::move(fix);
    out.push_back(std::move(finding));
  };
  const Json &memory = comparison["memory_gib"], &speed = comparison["tokens_per_s"];
  const double peak = memory["measured"].get<double>();
  const std::string peaks = memory["measured"].dump() + " GiB a rank measured, " + memory["planned"].dump() +
                            " planned (range " + memory["low"].dump() + " to " + memory["high"].dump() + ")";
  if (peak > memory["high"].get<double>()) {
    add("memory-above-plan", Severity::kWarning, peaks, "leave more room than the plan asks for");
  } else {
    add("memory-as-planned", Severity::kInfo, peaks, "");
  }
  if (speed["ratio"].get<double>() < 0.6) {
    add("slower-than-planned", Severity::kWarning,
        speed["measured"].dump() + " tokens/s measured, " + speed["planned"].dump() + " planned",
        "look for other work on this machine; the plan assumes that the run has all cores");
  }
  return out;
}

}  // namespace fx::tools
