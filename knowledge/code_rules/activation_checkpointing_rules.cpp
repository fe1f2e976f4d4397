// Activation checkpointing: where it goes, of which kind, and beside a cache.
#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool is_wrapping(const Event& event) {
  return event.is(EventKind::kCheckpointWrap) && (ends_with_part(event.callee, "checkpoint_wrapper") ||
                                                  ends_with_part(event.callee, "apply_activation_checkpointing"));
}

bool is_fsdp1(const Event& shard) {
  return shard.is(EventKind::kShard) && ends_with_part(shard.callee, "FullyShardedDataParallel");
}

bool is_fsdp2(const Event& shard) {
  return shard.is(EventKind::kShard) && ends_with_part(shard.callee, "fully_shard");
}

// Class names that a callable or a set mentions: of a check function's isinstance, or of a wrap policy.
std::vector<std::string_view> class_names(Node node) {
  std::vector<std::string_view> names;
  std::vector<Node> open = {node};
  while (!open.empty()) {
    const Node at = open.back();
    open.pop_back();
    const std::string_view text = at.text();
    if (at.is("identifier") && is_class_like(text) && !text.ends_with("Policy")) names.push_back(text);
    for (Node child = at.first_child(); child; child = child.next_sibling()) open.push_back(child);
  }
  return names;
}

bool wraps_itself(const Event& wrap) {
  const Object* module = main_of(wrap.argument("module", 0));
  return module != nullptr && module->sharding == Sharding::kFsdp1;
}

// The class that was checkpointed: of a submitted class, or named by the check function.
std::vector<std::string_view> checkpointed_classes(const Event& wrap) {
  if (const Argument* check = wrap.arguments == nullptr ? nullptr : wrap.arguments->find("check_fn", 2)) {
    return class_names(check->node);
  }
  const Object* module = core_of(wrap.argument("module", 0));
  if (module == nullptr) return {};
  if (module->of_class != nullptr) return {module->of_class->name};
  std::vector<std::string_view> names;
  for (const Object* of : classes_asked_for(wrap.guard, module)) names.push_back(last_part(main_of(of)->name));
  return names;
}

// FSDP(model, auto_wrap_policy=...) afterwards names the class, so that its unit comes inside of the checkpoint.
bool wrapped_inside_later(const Trace& trace, const Event& wrap) {
  const auto classes = checkpointed_classes(wrap);
  for (const Event& shard : trace.events) {
    if (shard.index < wrap.index || !is_fsdp1(shard) || !same_model(shard.subject, wrap.subject)) continue;
    const Object* policy = main_of(shard.arguments->get("auto_wrap_policy", 4));
    if (policy == nullptr || !policy->node) continue;
    for (const std::string_view name : class_names(policy->node)) {
      for (const std::string_view wrapped : classes) {
        if (name == wrapped) return true;
      }
    }
  }
  return false;
}

bool is_switched(const Event& event, std::string_view name) {
  return event.is(EventKind::kCheckpointWrap) && ends_with_part(event.callee, name);
}

// use_reentrant of a call, or of the dict given to gradient_checkpointing_enable; nullptr: not said.
const Object* reentrant_of(const Event& event) {
  if (event.is(EventKind::kCheckpointCall)) return event.argument("use_reentrant");
  const Object* options = event.argument("gradient_checkpointing_kwargs", 0);
  return options == nullptr ? nullptr : main_of(options->member("use_reentrant"));
}

// Nothing says use_reentrant=False: neither the call, nor a value that was not seen.
bool is_reentrant(const Event& event) {
  if (event.arguments == nullptr || event.arguments->has_unknown()) return false;
  if (event.is(EventKind::kCheckpointWrap)) {
    const Argument* given = event.arguments->find("gradient_checkpointing_kwargs", 0);
    const bool known = given == nullptr || (given->value->type == Type::kDict && given->value->member("**") == nullptr);
    if (!known) return false;
  }
  const Object* said = reentrant_of(event);
  return said == nullptr || said->is_true();
}

bool trains_after(const Trace& trace, const Event& event, const Object* model) {
  for (std::uint32_t i = event.index + 1; i < trace.events.size(); ++i) {
    const Event& later = trace.events[i];
    if (later.is(EventKind::kForward) && !without_grad(later) && same_model(later.subject, model)) return true;
  }
  return false;
}

bool trains_before(const Trace& trace, const Event& event) {
  for (std::uint32_t i = 0; i < event.index; ++i) {
    if (trace.events[i].is(EventKind::kBackward)) return true;
  }
  return false;
}

bool cache_set_to(const Event& event, bool on) {
  if (!event.is(EventKind::kSetAttribute) || event.callee != "use_cache") return false;
  const Object* value = event.argument("", 0);
  return value != nullptr && (on ? value->is_true() : value->is_false());
}

// model.config, or a config that a model is built from later.
const Object* model_of_config(const Trace& trace, const Object* config) {
  for (const Event& event : trace.events) {
    const bool builds = event.is(EventKind::kCall) && event.result != nullptr && event.result->type == Type::kModel;
    if (builds && (event.argument("config") == config ||
                   (ends_with_part(event.callee, "from_config") && event.argument("config", 0) == config)))
      return event.result;
  }
  return root_of(config->parent == nullptr ? config : config->parent);
}

const Event* checkpointed(const Trace& trace, const Object* model) {
  for (const Event& event : trace.events) {
    if (event.is(EventKind::kCheckpointWrap) && same_model(event.subject, model)) return &event;
  }
  return nullptr;
}

bool cache_off_after(const Trace& trace, const Event& on) {
  for (std::uint32_t i = on.index + 1; i < trace.events.size(); ++i) {
    if (cache_set_to(trace.events[i], false)) return true;
  }
  return false;
}

void check_cache_in_trace(const Trace& trace, Findings& findings) {
  for (const Event& event : trace.events) {
    if (event.is(EventKind::kForward) && !without_grad(event) && event.arguments != nullptr) {
      const Argument* cache = event.arguments->find("use_cache");
      if (cache != nullptr && main_of(cache->value)->is_true() && checkpointed(trace, event.subject))
        findings.at(event.file, cache->node ? cache->node : event.node);
    }
    // Model.from_pretrained(name, use_cache=True)
    const bool builds = event.is(EventKind::kCall) && event.result != nullptr && event.result->type == Type::kModel &&
                        event.arguments != nullptr && ends_with_part(event.callee, "from_pretrained");
    if (const Argument* cache = builds ? event.arguments->find("use_cache") : nullptr;
        cache != nullptr && main_of(cache->value)->is_true() && checkpointed(trace, event.result) &&
        !cache_off_after(trace, event))
      findings.at(event.file, cache->node);
    if (!cache_set_to(event, true)) continue;
    const Object* model = model_of_config(trace, event.receiver);
    const Event* wrap = checkpointed(trace, model);
    if (wrap == nullptr || cache_off_after(trace, event)) continue;
    if (trains_after(trace, event, model) || !trains_before(trace, event)) findings.at(event);
  }
}

}  // namespace

void ac_after_shard(const Program& program, Findings& findings) {
  const bool old_torch = program.context().torch_below(2, 13);
  for (const Trace& trace : program.traces()) {
    for (const Event& wrap : trace.events) {
      if (!is_wrapping(wrap)) continue;
      if (ends_with_part(wrap.callee, "checkpoint_wrapper") && wraps_itself(wrap)) {
        findings.at(wrap, "The checkpoint goes around an FSDP unit.");
      } else if (wrapped_inside_later(trace, wrap)) {
        findings.at(wrap, "The wrap policy puts an FSDP unit inside of each checkpoint.");
      }
      for (const Event& shard : trace.events) {
        if (old_torch && shard.index < wrap.index && is_fsdp2(shard) && same_model(shard.subject, wrap.subject) &&
            compatible(shard, wrap) && same_turn(shard, wrap))
          findings.at(wrap, "The blocks are sharded already.");
      }
    }
  }
}

void reentrant_checkpoint(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      const bool checkpoints =
          event.is(EventKind::kCheckpointCall) || is_switched(event, "gradient_checkpointing_enable");
      if (checkpoints && is_reentrant(event)) findings.at(event);
      const bool bound = event.callee == "functools.partial" && event.argument("", 0) != nullptr &&
                         ends_with_part(event.argument("", 0)->name, "checkpoint_wrapper");
      if ((!bound && !is_switched(event, "checkpoint_wrapper")) || event.arguments == nullptr) continue;
      const Argument* kind = event.arguments->find("checkpoint_impl", 1);
      const Object* value = kind == nullptr ? nullptr : main_of(kind->value);
      if (value == nullptr || value->type != Type::kExternal || !ends_with_part(value->name, "REENTRANT") ||
          ends_with_part(value->name, "NO_REENTRANT"))
        continue;
      Node call = kind->node;  // of checkpoint_wrapper, or of the partial() that bound the argument
      while (call && !call.is("call")) call = call.parent();
      findings.at(event.file, call ? call : event.node);
    }
  }
}

void use_cache_with_checkpointing(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) check_cache_in_trace(trace, findings);
}

}  // namespace fx::knowledge::checks
