// Gradient clipping: where, by which function, and what becomes of the norm.
#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/accumulation.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/precision.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool is_torch_clip(const Event& event) {
  return event.is(EventKind::kClip) && event.callee.starts_with("torch.nn.utils.") &&
         ends_with_part(event.callee, "clip_grad_norm_");
}

bool clips_itself(const Event& clip) {
  const Object* receiver = main_of(clip.receiver);
  return receiver != nullptr && receiver->type == Type::kAccelerator;
}

// Whether the clip and the step are about one model; a step of an optimizer nobody saw built may be about any.
bool may_concern(const Trace& trace, const Event& step, const Event& clip) {
  const Object* model = model_of_optimizer(trace, step.subject);
  return model == nullptr || clip.subject == nullptr || same_model(model, clip.subject);
}

// A step came after the last backward, and none follows before the next backward.
bool comes_after_step(const Trace& trace, const Event& clip) {
  const auto is_between = [&](const Event& event, EventKind kind) { return event.is(kind) && compatible(event, clip); };
  bool stepped = false;
  for (std::uint32_t i = clip.index; i-- > 0;) {
    const Event& event = trace.events[i];
    if (is_between(event, EventKind::kBackward)) break;
    if (is_between(event, EventKind::kStep) && event.pass == clip.pass && may_concern(trace, event, clip))
      stepped = true;
  }
  if (!stepped) return false;
  for (std::uint32_t i = clip.index + 1; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (is_between(event, EventKind::kBackward) || (clip.loop != nullptr && i >= clip.loop->end)) break;
    if (is_between(event, EventKind::kStep) && event.pass == clip.pass) return false;
  }
  return true;
}

const Object* scaler_of(const Event& backward) {
  const Object* loss = main_of(backward.receiver);
  if (loss == nullptr || loss->callee != ".scale" || !is_scaler(loss->receiver)) return nullptr;
  return main_of(loss->receiver);
}

// scaler.unscale_(opt) after the clip and before the step: whoever turns the scaler on clips scaled gradients.
bool is_unscaled_afterwards(const Trace& trace, const Event& clip) {
  for (std::uint32_t i = clip.index + 1; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (!compatible(event, clip) || event.pass != clip.pass) continue;
    if (event.is(EventKind::kUnscale)) return true;
    if (event.is(EventKind::kBackward) || event.is(EventKind::kStep) || event.is(EventKind::kClip)) return false;
  }
  return false;
}

// The last backward before went through a scaler, and nothing unscaled since.
bool is_still_scaled(const Trace& trace, const Event& clip) {
  for (std::uint32_t i = clip.index; i-- > 0;) {
    const Event& event = trace.events[i];
    if (!compatible(event, clip)) continue;
    if (event.is(EventKind::kUnscale)) return false;
    if (!event.is(EventKind::kBackward)) continue;
    const Object* scaler = scaler_of(event);
    return scaler != nullptr && (!may_be_disabled(scaler) || is_unscaled_afterwards(trace, clip));
  }
  return false;
}

bool never_sharded(const Trace& trace, const Object* model) {
  for (const Event& shard : trace.events) {
    if (!shard.is(EventKind::kShard) || !same_model(shard.subject, model)) continue;
    const Object* strategy = shard.argument("sharding_strategy", 2);
    if (strategy == nullptr) continue;
    if (strategy->type != Type::kExternal || ends_with_part(strategy->name, "NO_SHARD")) return true;
  }
  return false;
}

}  // namespace

void clip_wrong_place(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    if (!trace.has(EventKind::kClip)) continue;
    for (const Event& clip : trace.events) {
      if (!clip.is(EventKind::kClip) || clip.pass != 1 || clips_itself(clip)) continue;
      if (comes_after_step(trace, clip)) {
        findings.at(clip, "The optimizer has stepped already.");
      } else if (is_still_scaled(trace, clip)) {
        findings.at(clip, "The gradients still carry the loss scale here.");
      }
    }
  }
}

void clip_torch_utils_on_fsdp1(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& clip : trace.events) {
      if (is_torch_clip(clip) && sharding_of(trace, clip.subject) == Sharding::kFsdp1 &&
          !never_sharded(trace, clip.subject))
        findings.at(clip);
    }
  }
}

void offload_nccl_only_clip(const Program& program, Findings& findings) {
  if (program.backends().empty() || program.uses_accelerate()) return;
  for (const std::string& backend : program.backends()) {
    if (backend != "nccl") return;
  }
  bool clips_offloaded = false;
  for (const Trace& trace : program.traces()) {
    for (const Event& shard : trace.events) {
      if (!shard.is(EventKind::kShard) || !ends_with_part(shard.callee, "fully_shard")) continue;
      const Object* offload = shard.argument("offload_policy");
      if (offload == nullptr || !ends_with_part(offload->callee, "CPUOffloadPolicy")) continue;
      for (const Event& clip : trace.events) {
        const bool clips = clip.is(EventKind::kClip) || ends_with_part(clip.callee, "get_total_norm");
        clips_offloaded |= clips && (clip.subject == nullptr || same_model(clip.subject, shard.subject));
      }
    }
  }
  if (!clips_offloaded) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kInitGroup)) findings.at(event, "Gradients that live on the CPU are clipped later.");
    }
  }
}

}  // namespace fx::knowledge::checks
