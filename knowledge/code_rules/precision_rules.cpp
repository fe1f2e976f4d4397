// Scalers and autocast beside an FSDP precision policy.
#include <algorithm>

#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/precision.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

// The compute types of training that some trace shows: by the policy of a sharded model, or by autocast around a
// forward.
struct SeenTypes {
  bool half = false, bfloat = false, unclear = false;
  void add(ComputeType type) {
    half |= type == ComputeType::kFloat16;
    bfloat |= type == ComputeType::kBfloat16;
    unclear |= type == ComputeType::kUnknown;
  }
};

SeenTypes seen_types(const Program& program) {
  SeenTypes seen;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kShard)) seen.add(policy_type(event));
      if (without_grad(event)) continue;  // what runs under autocast may hand the model to a function that was not sent
      if (const Context* autocast = autocast_around(event)) seen.add(autocast_type(*autocast));
    }
  }
  return seen;
}

bool builds_scaler(const Event& event) {
  return event.result != nullptr && event.result->type == Type::kScaler && event.callee.ends_with("GradScaler");
}

bool is_fsdp1_half(const Event& shard) {
  return shard.is(EventKind::kShard) && ends_with_part(shard.callee, "FullyShardedDataParallel") &&
         policy_type(shard) == ComputeType::kFloat16;
}

// The model is differentiated in this trace: an optimizer steps it, or a forward of it is followed by a backward.
bool is_trained(const Trace& trace, const Object* model) {
  bool forward = false;
  for (const Event& event : trace.events) {
    if (event.is(EventKind::kForward) && same_model(event.subject, model) && !without_grad(event)) forward = true;
    if (event.is(EventKind::kBackward) && forward) return true;
  }
  return false;
}

bool scales_somewhere(const Program& program) {
  for (const std::string_view name : {".unscale_", ".scale", "torch.amp.GradScaler", "torch.cuda.amp.GradScaler",
                                      "torch.GradScaler", "torch.distributed.fsdp.ShardedGradScaler"}) {
    if (program.calls(name)) return true;
  }
  return program.uses_accelerate();
}

bool sets_param_dtype(const Event& shard) {
  if (precision_policy(shard) == nullptr) return false;
  const ComputeType policy = policy_type(shard);
  return policy != ComputeType::kNone && policy != ComputeType::kUnknown;
}

// Under a condition that need not hold where the other one happens.
bool is_chosen(const Event& event, const Event& where) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (!under(where, guard)) return true;
  }
  return false;
}

// Both can happen, and nothing says that one is the other's alternative: WRAP[kind](net), CAST[kind]().
bool go_together(const Event& shard, const Event& forward, const Event* made) {
  if (!compatible(shard, forward)) return false;
  if (made == nullptr) return true;
  if (!compatible(shard, *made)) return false;
  return !is_chosen(shard, forward) || !is_chosen(*made, forward) || ask_the_same(shard, *made);
}

// The model of the forward was sharded with a precision policy, here or in another function that it was handed to.
// made: the call that gave the autocast; what a switch gives for unsharded models meets no sharded one.
bool has_policy(const Program& program, const Trace& trace, const Event& forward, const Event* made) {
  bool sharded = false;
  for (const std::uint32_t index : trace.wraps) {
    const Event& shard = trace.events[index];
    if (!shard.is(EventKind::kShard) || !same_model(shard.subject, forward.subject)) continue;
    sharded = true;
    if (shard.pass != 1 || !go_together(shard, forward, made)) continue;
    if (sets_param_dtype(shard)) return true;
  }
  if (sharded) return false;
  const auto elsewhere = shards_by_name(program, forward.subject);
  return !elsewhere.empty() &&
         std::ranges::all_of(elsewhere, [](const Event* shard) { return sets_param_dtype(*shard); });
}

// context = torch.autocast(...), entered later; nullptr: not seen, a decorator.
const Event* call_that_made(const Trace& trace, const Context& context) {
  for (const Event& event : trace.events) {
    if (context.arguments != nullptr && event.arguments == context.arguments && event.callee == context.callee)
      return &event;
  }
  return nullptr;
}

}  // namespace

void gradscaler_with_bf16(const Program& program, Findings& findings) {
  if (!program.calls(".scale")) return;
  const SeenTypes seen = seen_types(program);
  if (!seen.bfloat || seen.half || seen.unclear) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (builds_scaler(event) && !may_be_disabled(event.result)) findings.at(event, "Compute is bfloat16 here.");
    }
  }
}

void fp16_scaler_wrong(const Program& program, Findings& findings) {
  const bool scales = scales_somewhere(program);
  for (const Trace& trace : program.traces()) {
    bool flat_half = false;
    for (const Event& event : trace.events) flat_half |= is_fsdp1_half(event);
    for (const Event& event : trace.events) {
      const bool stock = builds_scaler(event) && !ends_with_part(event.callee, "ShardedGradScaler");
      if (stock && flat_half && !may_be_disabled(event.result)) {
        findings.at(event, "An FSDP1 model computes in float16 with the scaler for unsharded gradients.");
      }
      if (scales || !event.is(EventKind::kShard) || policy_type(event) != ComputeType::kFloat16) continue;
      const Object* policy = main_of(precision_policy(event));
      if (policy->file != nullptr && is_trained(trace, event.subject)) {
        findings.at(policy->file, policy->node, "Trains in float16 and no gradient scaler is in sight.");
      }
    }
  }
}

void autocast_with_mp_policy(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      // Of a model that was handed in, only its name tells that the call is a forward.
      if (event.pass != 1 || (!event.is(EventKind::kForward) && event.callee != "()")) continue;
      const Context* autocast = autocast_around(event);
      if (autocast == nullptr) continue;
      const Event* made = call_that_made(trace, *autocast);
      const ComputeType type = autocast_type(*autocast);
      const bool off = type == ComputeType::kNone;
      const Object* enabled = autocast->arguments == nullptr ? nullptr : main_of(autocast->arguments->get("enabled"));
      if (off || (enabled != nullptr && !enabled->is_true()) || !has_policy(program, trace, event, made)) continue;
      if (made != nullptr)
        findings.at(*made);
      else
        findings.at(autocast->file, autocast->node);
    }
  }
}

}  // namespace fx::knowledge::checks
