#include "tools/plan_finetune.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "knowledge/plan/plan.h"

namespace fx::tools {
namespace {

using namespace knowledge::plan;

double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}
double gib(double bytes) {
  return std::round(bytes / kGib * 100) / 100;
}
// Three significant figures or so: more would claim what a plan cannot know.
double speed(double value) {
  return value < 1000 ? rounded(value, 2) : std::round(value);
}

Json memory_json(const MemoryPlan& m) {
  Json parts = Json::object();
  for (const auto& [name, bytes] : m.components) parts[name] = gib(bytes);
  Json moments = Json::object();
  for (const auto& moment : m.moments) moments[moment.name] = gib(moment.bytes);
  Json out = {{"allocated", gib(m.allocated)},
              {"reserved", gib(m.reserved)},
              {"nvidia_smi", gib(m.nvidia_smi)},
              {"needed", gib(m.needed)},
              {"by_component", parts},
              {"peak_moment", m.peak_moment},
              {"moments", moments},
              {"low", gib(m.low)},
              {"high", gib(m.high)}};
  if (m.host > 0) out["host_per_machine"] = gib(m.host);
  return out;
}

const char* dtype(double bytes, const Setting& s) {
  return bytes > 2 ? "fp32" : s.fp16 ? "fp16" : "bf16";
}

// In the words of the arguments, so that it can be asked again as it is.
Json setting_json(const Setting& s, const Machine& machine) {
  const auto whole = [](double v) { return static_cast<long long>(v); };
  Json out = {{"method", to_string(s.method)},
              {"sharding", to_string(s.sharding)},
              {"reshard_after_forward", s.reshard},
              {"cpu_offload", s.offload},
              {"activation_checkpointing", to_string(s.checkpointing)},
              {"seq_len", whole(s.seq)},
              {"micro_batch", whole(s.micro_batch)},
              {"grad_accum", whole(s.grad_accum)},
              {"param_dtype", dtype(s.param_bytes, s)},
              {"reduce_dtype", dtype(s.reduce_bytes, s)},
              {"master_dtype", dtype(s.master_bytes, s)},
              {"optimizer", to_string(s.optimizer)},
              {"attention", to_string(s.attention)},
              {"loss_impl", to_string(s.loss)},
              {"tp", whole(s.tp)},
              {"pp", whole(s.pp)},
              {"cp", whole(s.cp)},
              {"ep", whole(s.ep)},
              {"compile", s.compile},
              {"fp8", s.fp8}};
  if (s.sharding == Sharding::kHsdp) out["shard_size"] = whole(shards_of(s, machine).weights / s.cp);
  if (is_lora(s)) out["lora_rank"] = whole(s.lora_rank);
  return out;
}

Json speed_json(const SpeedPlan& s) {
  const auto ms = [](double seconds) { return rounded(1e3 * seconds, 2); };
  return {{"step_s", rounded(s.step_s, 4)},
          {"matrix_products_ms", ms(s.gemm_s)},
          {"attention_ms", ms(s.attention_s)},
          {"bandwidth_bound_ms", ms(s.elementwise_s)},
          {"dequantise_ms", ms(s.dequant_s)},
          {"communication_ms", ms(s.comm_s)},
          {"exposed_communication_ms", ms(s.exposed_comm_s)},
          {"offload_ms", ms(s.offload_s)},
          {"optimizer_ms", ms(s.optimizer_s)},
          {"launch_ms", ms(s.launch_s)},
          {"pipeline_bubble_ms", ms(s.bubble_s)}};
}

// One line a way of spreading the work; the settings that make it up.
Json alternative_json(const Candidate& c) {
  const Setting& s = c.setting;
  std::string text(to_string(s.sharding));
  if (is_lora(s)) text = std::string(to_string(s.method)) + ", " + text;
  if (s.shard_size > 0) text += " over " + std::to_string(static_cast<long long>(s.shard_size));
  if (is_fsdp(s.sharding) && !s.reshard) text += ", parameters kept after forward";
  const auto size = [&](const char* name, double n) {
    if (n > 1) text += ", " + std::string(name) + " " + std::to_string(static_cast<long long>(n));
  };
  size("tp", s.tp), size("pp", s.pp), size("cp", s.cp), size("ep", s.ep);
  if (s.offload) text += ", CPU offload";
  text += ", checkpointing " + std::string(to_string(s.checkpointing));
  if (s.loss == Loss::kLiger) text += ", liger";
  if (s.compile) text += ", compile";
  size("micro-batch", s.micro_batch), size("accumulation", s.grad_accum);
  return {{"settings", text},
          {"memory_gib", gib(c.memory.needed)},
          {"tokens_per_s_per_gpu", speed(c.speed.tokens_per_s)},
          {"fits", c.memory.fits}};
}

void add_choices(const Plan& plan, Json& out) {
  out["steps"] = plan.steps;
  out["recommendations"] = Json::array();
  for (const auto& r : plan.recommendations) {
    out["recommendations"].push_back({{"change", r.change},
                                      {"effect", r.why},
                                      {"memory_gib", rounded(r.memory_gib, 2)},
                                      {"tokens_per_s_per_gpu", speed(r.tokens_per_s)},
                                      {"fits", r.fits}});
  }
  out["alternatives"] = Json::array();
  for (const Candidate& c : plan.ranked) out["alternatives"].push_back(alternative_json(c));
  for (const Answer& answer : plan.answers) out["answers"][answer.id] = answer.text;
}

Json plan_json(const Plan& plan) {
  Json out = {{"applicable", plan.applicable}, {"strategy", plan.strategy}, {"reasons", plan.reasons}};
  if (!plan.applicable) return out;
  const Candidate& c = plan.chosen;
  out["fits"] = c.memory.fits;
  out["memory_gib"] = memory_json(c.memory);
  out["tokens_per_s_per_gpu"] = speed(c.speed.tokens_per_s);
  out["tokens_per_s_per_gpu_range"] = {speed(plan.speed_low), speed(plan.speed_high)};
  out["tokens_per_s"] = speed(c.speed.tokens_per_s * plan.machine.world());
  out["mfu"] = rounded(c.speed.mfu, 4);
  out["bound_by"] = c.speed.bound_by;
  if (plan.hours > 0) out["hours"] = rounded(plan.hours, 3);
  if (plan.cost > 0) out["cost"] = rounded(plan.cost, 2);
  out["settings"] = setting_json(c.setting, plan.machine);
  out["micro_batch_time"] = speed_json(c.speed);
  out["parameters"] = {{"total", std::llround(plan.count.total)}, {"active", std::llround(plan.count.active)}};
  out["hardware_used"] = {{"gpu", plan.machine.gpu.name},
                          {"usable_memory_gib", rounded(plan.machine.gpu.memory_gib, 2)},
                          {"peak_tflops", plan.machine.gpu.peak_tflops},
                          {"source", plan.machine.gpu.source},
                          {"gpus", static_cast<long long>(plan.machine.world())}};
  add_choices(plan, out);
  out["assumptions"] = plan.assumptions;
  out["limits"] = plan.limits;
  for (const auto& [name, text] : plan.files) out["files"][name] = text;
  return out;
}

}  // namespace

Result<Json> plan_finetune(const Json& arguments) {
  const auto args = plan_fields().parse(arguments);
  if (!args) return args.error();
  const auto plan = make_plan(*args);
  if (!plan) return plan.error();
  return plan_json(*plan);
}

Tool plan_finetune_tool() {
  return {"plan_finetune",
          "Predicts memory per GPU, speed, time and cost of a fine-tune, says whether it fits and what bounds it, "
          "chooses the "
          "settings that are left open, and says when FSDP is the wrong tool. Needs the model's config.json fields and "
          "the hardware.",
          to_text(schema_of(plan_fields().infos())),
          "",
          true,
          [](const Json& arguments, ToolContext&) { return plan_finetune(arguments); }};
}

}  // namespace fx::tools
