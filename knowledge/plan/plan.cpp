#include "knowledge/plan/plan.h"

#include <cmath>
#include <cstdio>

#include "knowledge/plan/machine.h"
#include "knowledge/plan/search.h"

namespace fx::knowledge::plan {
namespace {

Plan nothing_to_train() {
  Plan plan;
  plan.applicable = false;
  plan.strategy = "none";
  plan.reasons = {
      "Nothing is trained, so there are no gradients or optimizer states to shard: FSDP would gather every weight for "
      "each "
      "forward pass and gain nothing.",
      "For inference, evaluation or embeddings use one GPU when the weights fit, else tensor parallelism in a serving "
      "engine such as vLLM or SGLang."};
  return plan;
}

void set_cost(Plan& plan, const PlanArgs& args) {
  plan.tokens = args.data.tokens.value_or(0);
  if (!args.data.tokens || plan.chosen.speed.tokens_per_s <= 0) return;
  plan.hours = *args.data.tokens / (plan.chosen.speed.tokens_per_s * plan.machine.world()) / 3600;
  if (args.price_per_gpu_hour) plan.cost = plan.hours * plan.machine.world() * *args.price_per_gpu_hour;
}

// A step's batch that nobody asked for, said aloud.
void note_batch(Plan& plan, const Resolved& resolved) {
  const Setting& s = plan.chosen.setting;
  const auto whole = [](double value) { return std::to_string(static_cast<long long>(value)); };
  const double sequences = s.micro_batch * s.grad_accum * shards_of(s, plan.machine).data_parallel;
  if (resolved.global_batch > 0 && sequences != resolved.global_batch) {
    plan.assumptions.push_back(whole(sequences) + " sequences a step instead of " + whole(resolved.global_batch) +
                               ", which the GPUs cannot share evenly");
  }
  if (!resolved.open.accumulation || resolved.global_batch > 0 || s.grad_accum <= 1) return;
  plan.assumptions.push_back("accumulation over " + whole(s.grad_accum) +
                             " micro-batches, because a step then costs less a token: " + whole(sequences) +
                             " sequences a step (set training.global_batch_size or grad_accum to decide)");
}

// More cards than a server usually holds: several machines were probably meant.
void note_large_machine(Plan& plan) {
  constexpr double kUsualCards = 8;
  const Machine& m = plan.machine;
  if (m.cpu || m.nodes > 1 || m.gpus_per_node <= std::max(kUsualCards, m.gpu.domain)) return;
  plan.assumptions.push_back(
      std::to_string(static_cast<long long>(m.gpus_per_node)) +
      " GPUs in one machine, joined by its fast link (set hardware.nodes if they are in several)");
}

}  // namespace

std::string gib_text(double bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / (1024.0 * 1024 * 1024));
  return text;
}

Candidate evaluate(const ModelShape& shape, const ParamCount& count, const Setting& setting, const Machine& machine) {
  return {setting, plan_memory(shape, count, setting, machine), plan_speed(shape, count, setting, machine)};
}

Result<Plan> make_plan(const PlanArgs& args) {
  if (args.training.method && *args.training.method == "none") return nothing_to_train();
  auto machine = read_machine(args.hardware);
  auto shape = read_model_shape(args.model);
  std::vector<Error> errors;
  const auto take = [&](const Error& e) {
    if (e.details.empty()) return errors.push_back(e);
    errors.insert(errors.end(), e.details.begin(), e.details.end());
  };
  if (!machine) take(machine.error());
  if (!shape) take(shape.error());
  if (!errors.empty()) return combine(std::move(errors));
  Plan plan;
  plan.machine = *machine;
  plan.shape = *shape;
  plan.count = count_params(*shape);
  const auto resolved = resolve(args, *shape, plan.count, *machine);
  if (!resolved) return resolved.error();
  plan.assumptions = shape->assumed;
  plan.assumptions.insert(plan.assumptions.end(), resolved->assumed.begin(), resolved->assumed.end());
  Choice choice = choose(*shape, plan.count, *resolved, *machine);
  plan.chosen = std::move(choice.best);
  plan.ranked = std::move(choice.ranked);
  plan.reasons = std::move(choice.reasons);
  note_batch(plan, *resolved);
  note_large_machine(plan);
  if (!std::isfinite(plan.chosen.memory.allocated) || !std::isfinite(plan.chosen.speed.tokens_per_s)) {
    return invalid_argument("model", "sizes are too large to plan with", "check hidden_size, layers and vocab_size");
  }
  set_strategy(plan);
  set_recommendations(plan);
  set_steps(plan);
  set_limits(plan);
  set_speed_range(plan);
  if (args.answers) set_answers(plan);
  set_cost(plan, args);
  write_files(plan, args.files);
  return plan;
}

}  // namespace fx::knowledge::plan
