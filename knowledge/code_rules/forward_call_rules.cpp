#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

// The module inside an FSDP1 wrapper, not the wrapper itself.
bool inside_wrapper(const Trace& trace, const Object* module) {
  if (module == nullptr || module->wrapped != nullptr || module->sharding == Sharding::kFsdp1) return false;
  return std::ranges::any_of(trace.events,
                             [&](const Event& event) { return is_fsdp1(event) && main_of(event.subject) == module; });
}

bool sharded_before(const Trace& trace, const Object* module, std::uint32_t index) {
  return std::ranges::none_of(trace.events, [&](const Event& event) {
    return event.is(EventKind::kShard) && event.index > index && same_model(event.subject, module);
  });
}

Sharding sharding_of(const ShardedClasses& classes, const Object* core) {
  const auto found = classes.find(core->of_class);
  return found == classes.end() ? Sharding::kNone : found->second;
}

// A root of FSDP2, or a module of a class whose instances are.
bool is_fsdp2_root(const ShardedClasses& classes, const Object* module) {
  const Object* core = core_of(module);
  if (core == nullptr || core->parent != nullptr) return false;
  return core->sharding == Sharding::kFsdp2 || sharding_of(classes, core) == Sharding::kFsdp2;
}

bool is_registered(const Program& program, std::string_view method) {
  if (!program.calls("torch.distributed.fsdp.register_fsdp_forward_method")) return false;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.callee != "torch.distributed.fsdp.register_fsdp_forward_method") continue;
      const Object* given = event.arguments->get("method_name", 1);
      if (given == nullptr) return true;
      for (const Object* name : alternatives(given)) {
        if (name->type != Type::kText || !name->constant || name->name == method) return true;
      }
    }
  }
  return false;
}

// What runs between entering the method and leaving it.
bool computes_with_parts(const Trace& trace, const Event& call) {
  const Object* root = core_of(call.subject);
  for (std::size_t i = call.index + 1; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    bool inner = false;
    for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller)
      inner |= frame->call == call.node && frame->call_file == call.file;
    if (!inner) {
      if (event.is(EventKind::kEnter) && event.node == call.node) continue;
      return false;
    }
    const bool runs =
        event.is(EventKind::kForward) || event.is(EventKind::kForwardMethod) || event.is(EventKind::kGenerate);
    if (runs && event.subject != nullptr && strictly_inside(event.subject, root)) return true;
    if (event.is(EventKind::kForward) && core_of(event.subject) == root) return false;
  }
  return false;
}

// Names under which models offer their computation beside forward.
bool is_compute_name(std::string_view method) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "encode",   "decode",  "embed",       "score",           "predict",       "sample",
      "log_prob", "inverse", "infer",       "inference",       "training_step", "validation_step",
      "act",      "rollout", "reconstruct", "extract_features"};
  if (std::ranges::find(kNames, method) != kNames.end()) return true;
  for (const std::string_view verb : {"encode_", "decode_", "embed_", "forward_", "predict_", "score_"}) {
    if (method.starts_with(verb)) return true;
  }
  return method.starts_with("get_") && method.ends_with("_features");
}

// It gets data, not only what the model itself gave before.
bool gets_data(const Event& call) {
  if (call.arguments == nullptr) return false;
  return std::ranges::any_of(call.arguments->list, [&](const Argument& argument) {
    const Object* value = main_of(argument.value);
    const bool option = value->type == Type::kText || value->type == Type::kBool || value->type == Type::kNone;
    return !option && !made_from(value, [&](const Object& object) {
      return object.callee == "()" && same_model(object.receiver, call.subject);
    });
  });
}

bool under_summon(const Event& event) {
  return context_of(event, "torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params") != nullptr ||
         context_of(event, ".summon_full_params") != nullptr;
}

}  // namespace

void forward_called_directly(const Program& program, Findings& findings) {
  const ShardedClasses classes = sharded_classes(program);
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kForwardMethod) || event.callee != ".forward" ||
          event.node.child("function").child("object").is("call"))
        continue;
      const Object* module = event.subject;
      if (module == nullptr || under_summon(event)) continue;
      const bool fsdp2 = core_of(module)->sharding == Sharding::kFsdp2 && module->sharding != Sharding::kFsdp1;
      const bool by_class = !inside_forward(event) && module->wrapped == nullptr && is_fsdp2_root(classes, module);
      if ((fsdp2 || by_class || inside_wrapper(trace, module)) && sharded_before(trace, module, event.index))
        findings.at(event);
    }
  }
}

void unregistered_forward_method(const Program& program, Findings& findings) {
  const ShardedClasses classes = sharded_classes(program);
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      const bool method = event.is(EventKind::kForwardMethod) && event.callee != ".forward";
      if ((!method && !event.is(EventKind::kGenerate)) || event.subject == nullptr || inside_forward(event) ||
          under_summon(event))
        continue;
      const std::string_view name = event.callee.substr(1);
      const Object* module = event.subject;
      const bool fsdp1 =
          sharding_of(trace, module) == Sharding::kFsdp1 || sharding_of(classes, core_of(module)) == Sharding::kFsdp1;
      const bool fsdp2 = is_fsdp2_root(classes, module);
      if ((!fsdp1 && !fsdp2) || !sharded_before(trace, module, event.index) || is_registered(program, name)) continue;
      if (event.is(EventKind::kGenerate)) {
        // Hugging Face's generate calls the model itself: enough for an FSDP2 root, not for a wrapper.
        if (fsdp1 && core_of(module)->parent == nullptr) findings.at(event);
        continue;
      }
      const bool seen = core_of(module)->of_class != nullptr;
      if (seen ? computes_with_parts(trace, event)
               : is_compute_name(name) && gets_data(event) && core_of(module)->parent == nullptr)
        findings.at(event);
    }
  }
}

}  // namespace fx::knowledge::checks
