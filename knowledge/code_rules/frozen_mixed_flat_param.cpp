#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/freezing.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

constexpr int kPolicyPlace = 4;  // of auto_wrap_policy among FSDP's arguments

template <std::size_t N>
bool names_one_of(std::string_view text, const std::array<std::string_view, N>& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return contains_ignoring_case(text, name); });
}

// Some condition, or the value that is set, has one of these words.
template <std::size_t N>
bool picks_by(const Event& event, const std::array<std::string_view, N>& names) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (names_one_of(guard->test.text(), names)) return true;
  }
  // p.requires_grad = "bias" in name, p.requires_grad_("bias" in name)
  return names_one_of((event.node.is("call") ? event.node.child("arguments") : event.node.child("right")).text(),
                      names);
}

// Parameters inside of a layer.
bool picks_inside_layers(const Event& event) {
  constexpr std::array<std::string_view, 9> kParts = {"lora", "bias",   "norm",   "adapter", "attn",
                                                      "mlp",  "q_proj", "v_proj", "ln_"};
  return picks_by(event, kParts);
}

// Parts of a model that stand beside its layers: a policy that wraps layers leaves them to the unit of the root.
constexpr std::array<std::string_view, 9> kBesideLayers = {"embed", "wte",      "wpe",       "head",  "classifier",
                                                           "score", "proj_out", "to_logits", "shared"};

bool separates_frozen(const Object* policy) {
  if (policy == nullptr) return false;
  const std::string_view name = last_part(policy->callee == "functools.partial" ? policy->name : policy->callee);
  return contains(name, "fsdp_auto_wrap_policy") || contains(name, "_or_policy") || contains(name, "lambda") ||
         name == "CustomPolicy";
}

// The classes that transformer_auto_wrap_policy or ModuleWrapPolicy was told; nothing: another policy, or not seen.
std::optional<std::vector<const Object*>> wrapped_classes(const Object* policy) {
  if (policy == nullptr || policy->made_by == nullptr) return std::nullopt;
  const bool partial =
      policy->callee == "functools.partial" && ends_with_part(policy->name, "transformer_auto_wrap_policy");
  if (!partial && !ends_with_part(policy->callee, "ModuleWrapPolicy")) return std::nullopt;
  const Object* set =
      main_of(partial ? policy->made_by->get("transformer_layer_cls") : policy->made_by->get("module_classes", 0));
  if (set == nullptr || set->type != Type::kSequence || set->items.empty()) return std::nullopt;
  std::vector<const Object*> classes;
  for (const Object* item : set->items) {
    classes.push_back(main_of(item));
    if (classes.back()->type != Type::kExternal && classes.back()->type != Type::kClass) return std::nullopt;
  }
  return classes;
}

// The part went into a wrapper of its own before the whole did.
bool wrapped_before(const Trace& trace, const Object* part, const Event& whole) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    return event.index < whole.index && is_fsdp1(event) && core_of(event.subject) == core_of(part);
  });
}

// Of one of a list of blocks: layer.attention.
bool inside_a_block(const Object* part) {
  const Object* at = core_of(core_of(part)->parent);
  for (int i = 0; i < 8 && at != nullptr; ++i) {
    if (at->element) return true;
    at = core_of(at->parent);
  }
  return false;
}

// A class that the policy wraps is named like the part: `attention` and OptAttention. Then the part is a unit.
bool is_wrapped_by_name(const Object& part, const Event& shard) {
  const auto classes = wrapped_classes(shard.argument("auto_wrap_policy", kPolicyPlace));
  if (!classes) return false;
  const std::string name(part.name);
  for (std::string_view word : split(name, '_')) {
    if (word == "self" || word == "layer" || word.size() < 3) continue;
    if (word.starts_with("att")) word = "att";
    if (std::ranges::any_of(*classes,
                            [&](const Object* of) { return contains_ignoring_case(last_part(of->name), word); }))
      return true;
  }
  return false;
}

// Adapters, or single parameters frozen: some inner layers then hold both kinds.
bool mixes_frozen(const Trace& trace, const Event& shard) {
  const Object* core = core_of(shard.subject);
  if (core->callee == "peft.PeftModel.from_pretrained") return true;
  for (std::uint32_t i = 0; i < shard.index; ++i) {
    const Event& event = trace.events[i];
    if (event.is(EventKind::kCall) &&
        (event.callee == "peft.get_peft_model" || event.callee == "peft.inject_adapter_in_model")) {
      if (same_model(event.argument("model", 0), core) || same_model(event.argument("model", 1), core)) return true;
    }
    const GradSwitch freezes = grad_switch(event);
    if (freezes.module == nullptr || !same_model(freezes.module, core)) continue;
    if (parameter_behind(event.receiver) != nullptr && picks_inside_layers(event)) return true;
    if (!strictly_inside(freezes.module, core) || wrapped_before(trace, freezes.module, shard)) continue;
    if (inside_a_block(freezes.module) && !is_wrapped_by_name(*core_of(freezes.module), shard)) return true;
    // One flat parameter for all: any frozen part makes it a mix.
    if (is_absent(shard, "auto_wrap_policy", kPolicyPlace) && freezes.on == false) return true;
  }
  return false;
}

// Whether the module trains when the model is sharded, by the last statement about it or about what it lies in.
bool trains(const Trace& trace, const Object* module, const Event& shard) {
  bool on = true;
  for (std::uint32_t i = 0; i < shard.index; ++i) {
    const GradSwitch found = grad_switch(trace.events[i]);
    if (found.module != nullptr && found.on && lies_in(module, found.module)) on = *found.on;
  }
  return on;
}

// Attributes, or the items of nn.Sequential and nn.ModuleList.
std::vector<const Object*> parts_of(const Object& module) {
  std::vector<const Object*> parts;
  for (const auto& [name, value] : module.members) parts.push_back(core_of(value));
  for (const Object* item : module.items) parts.push_back(core_of(item));
  std::erase_if(parts,
                [&](const Object* part) { return part->type != Type::kModel || core_of(part->parent) != &module; });
  return parts;
}

// Layers of torch.nn with parameters that the policy leaves to the unit around them.
void collect_left_over(const Trace& trace, const Event& shard, const std::vector<const Object*>& wrapped,
                       const Object& module, int depth, std::vector<const Object*>& layers) {
  constexpr int kMaxDepth = 6;
  for (const Object* part : parts_of(module)) {
    if (depth > kMaxDepth || wrapped_before(trace, part, shard) ||
        std::ranges::any_of(wrapped, [&](const Object* of) { return is_instance(part, of); }))
      continue;
    if (is_leaf_layer(*part))
      layers.push_back(part);
    else
      collect_left_over(trace, shard, wrapped, *part, depth + 1, layers);
  }
}

// Of a class that was not sent: an embedding or a head differs from the rest, which the root holds too.
bool differs_from_the_rest(const Trace& trace, const Event& shard, const Object* core) {
  const bool whole = trains(trace, core, shard);
  for (std::uint32_t i = 0; i < shard.index; ++i) {
    const Event& event = trace.events[i];
    const GradSwitch found = grad_switch(event);
    if (found.module == nullptr) continue;
    const Object* part = core_of(found.module);
    const Object* owner = part->callee == ".get_input_embeddings" || part->callee == ".get_output_embeddings"
                              ? core_of(part->receiver)
                              : nullptr;
    if (owner != nullptr ? owner == core : strictly_inside(part, core) && names_one_of(part->name, kBesideLayers)) {
      if (trains(trace, part, shard) != whole && !inside_a_block(part)) return true;
    }
    // for name, p in model.named_parameters(): p.requires_grad = "head" in name
    if (part == core && parameter_behind(event.receiver) != nullptr && picks_by(event, kBesideLayers)) return true;
  }
  return false;
}

// The root's own unit holds layers that train beside frozen ones.
bool root_unit_is_mixed(const Trace& trace, const Event& shard) {
  const Object* core = core_of(shard.subject);
  const bool no_policy = is_absent(shard, "auto_wrap_policy", kPolicyPlace);
  const auto wrapped =
      no_policy ? std::vector<const Object*>{} : wrapped_classes(shard.argument("auto_wrap_policy", kPolicyPlace));
  if (!wrapped || core->element) return false;
  if (core->of_class == nullptr) return differs_from_the_rest(trace, shard, core);
  std::vector<const Object*> layers;
  collect_left_over(trace, shard, *wrapped, *core, 0, layers);
  if (layers.empty()) return false;
  const bool first = trains(trace, layers.front(), shard);
  return std::ranges::any_of(layers, [&](const Object* layer) { return trains(trace, layer, shard) != first; });
}

}  // namespace

void frozen_mixed_flat_param(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& shard : trace.events) {
      if (!is_fsdp1(shard) || shard.pass != 1 || shard.subject == nullptr || !is_absent(shard, "use_orig_params"))
        continue;
      if (separates_frozen(shard.argument("auto_wrap_policy", kPolicyPlace))) continue;
      if (mixes_frozen(trace, shard) || root_unit_is_mixed(trace, shard)) findings.at(shard);
    }
  }
}

}  // namespace fx::knowledge::checks
