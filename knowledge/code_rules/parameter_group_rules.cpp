#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/freezing.h"
#include "knowledge/code_rules/participation.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

// The shard call whose group holds the module: of itself, or of the nearest module around it.
const Event* group_of(const Trace& trace, const Object* module, const Event& tie) {
  for (const Object* at = core_of(module); at != nullptr; at = core_of(at->parent)) {
    for (const Event& event : trace.events) {
      if (!is_fsdp2(event) || !compatible(event, tie)) continue;
      for (const Object* unit : shard_units(event)) {
        if (core_of(unit) == at) return &event;
      }
    }
  }
  return nullptr;
}

bool is_own_group(const Trace& trace, const Object* module) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    const auto units = event.is(EventKind::kShard) ? shard_units(event) : std::vector<const Object*>{};
    return std::ranges::any_of(units, [&](const Object* unit) { return core_of(unit) == core_of(module); });
  });
}

bool is_half(const Object* dtype) {
  return is_dtype(dtype, "bfloat16") || is_dtype(dtype, "float16");
}

// 16 or 32: what a cast makes; 0: no cast.
int cast_bits(const Event& event) {
  if (!event.is(EventKind::kMove)) return 0;
  if (event.callee == ".float") return 32;
  if (event.callee == ".half" || event.callee == ".bfloat16") return 16;
  if (event.callee != ".to") return 0;
  for (const Argument& argument : event.arguments->list) {
    if (is_half(argument.value)) return 16;
    if (is_dtype(argument.value, "float32")) return 32;
  }
  return 0;
}

// What the model was built in: 16, 32, 0 if unknown.
int stored_bits(const Object* model) {
  const Object* core = core_of(model);
  if (core == nullptr || core->made_by == nullptr) return 0;
  const Object* dtype = main_of(core->made_by->get("torch_dtype"));
  if (dtype == nullptr) dtype = main_of(core->made_by->get("dtype"));
  if (dtype != nullptr) return is_half(dtype) ? 16 : is_dtype(dtype, "float32") ? 32 : 0;
  return core->of_class != nullptr || is_pretrained(core) ? 32 : 0;
}

// The model that holds the module whose weight this is: base.weight, or base itself.
const Object* root_of_weight(const Object* weight) {
  const Object* at = main_of(weight);
  if (at->type != Type::kModel && at->parent != nullptr) at = main_of(at->parent);
  return root_of(at);
}

// Parameters that train beside those the event picks: all of them, unless the model was frozen and nothing else
// switched on again.
bool others_train(const Trace& trace, const Event& picked, const Object* model, std::uint32_t until) {
  bool frozen = false, others = false;
  for (std::uint32_t i = 0; i < until; ++i) {
    const Event& event = trace.events[i];
    frozen |= event.callee == "peft.get_peft_model" && same_model(event.subject, model);
    frozen |= event.guard == picked.guard ? false : sets_requires_grad(event, model, false);
    others |= sets_requires_grad(event, model, true) && !(picked.guard != nullptr && under(event, picked.guard));
  }
  return !frozen || others;
}

// p.data = p.data.float() for the parameters that a condition picks.
bool mixes_by_name(const Trace& trace, const Event& set) {
  const Object* parameter = parameter_behind(set.receiver);
  const Object* model = model_of_parameter(parameter);
  if (model == nullptr || set.guard == nullptr || set.loop == nullptr) return false;
  int bits = 0;
  for (std::uint32_t i = set.index; i-- > 0 && bits == 0 && i + 16 > set.index;) {
    const Event& cast = trace.events[i];
    if (cast.file == set.file && within(cast.node, set.node)) bits = cast_bits(cast);
  }
  const bool picks = condition_within_loop(trace, set, *set.loop) != nullptr;
  const Event* shard = next_shard(trace, model, set.index);
  const int whole = stored_bits(root_of(model));
  return bits != 0 && picks && shard != nullptr && whole != 0 && whole != bits &&
         others_train(trace, set, model, shard->index);
}

// What a layer that the code makes is stored in: as it is told, or as the layer is whose dtype it takes; 0 if unknown.
int made_bits(const Object& layer) {
  const Object* dtype = main_of(layer.made_by->get("dtype"));
  if (dtype == nullptr) return layer.made_by->has_unknown() ? 0 : 32;
  if (is_half(dtype)) return 16;
  if (is_dtype(dtype, "float32")) return 32;
  return dtype->name == "dtype" && dtype->parent != nullptr ? stored_bits(root_of_weight(dtype->parent)) : 0;
}

bool is_frozen_model(const Trace& trace, const Object* model, std::uint32_t until) {
  for (std::uint32_t i = 0; i < until; ++i) {
    const Event& event = trace.events[i];
    if (event.callee == "peft.get_peft_model" && same_model(event.subject, model)) return true;
    if (sets_requires_grad(event, model, false)) return true;
  }
  return false;
}

bool is_cast_or_frozen(const Trace& trace, const Object* part, std::uint32_t from, std::uint32_t until) {
  for (std::uint32_t i = from; i < until; ++i) {
    const Event& event = trace.events[i];
    const bool changes = cast_bits(event) != 0 || event.callee == ".requires_grad_";
    if (changes && event.subject != nullptr && event.subject->type == Type::kModel && lies_in(part, event.subject))
      return true;
  }
  return false;
}

// Two layers that a module of the files makes for a half-precision model, one of them in another dtype than the other.
void check_made_layers(const Trace& trace, Findings& findings) {
  for (const Event& one : trace.events) {
    const Object* layer = one.result;
    if (!one.is(EventKind::kCall) || one.pass != 1 || layer == nullptr || layer->node != one.node ||
        !is_leaf_layer(*layer) || layer->parent == nullptr)
      continue;
    const int bits = made_bits(*layer);
    for (const Event& other : trace.events) {
      const Object* beside = other.result;
      if (!other.is(EventKind::kCall) || beside == nullptr || beside == layer || beside->node != other.node ||
          beside->parent != layer->parent || !is_leaf_layer(*beside))
        continue;
      // The other one follows the model, which tells what the model is stored in.
      const Object* follows = main_of(beside->made_by->get("dtype"));
      if (follows == nullptr || follows->name != "dtype" || follows->parent == nullptr) continue;
      const int whole = made_bits(*beside);
      const Event* shard = next_shard(trace, root_of_weight(follows->parent), one.index);
      if (bits == 0 || whole == 0 || bits == whole || shard == nullptr) continue;
      const auto made = std::min(one.index, other.index);
      if (!is_cast_or_frozen(trace, layer, made, shard->index) && !is_cast_or_frozen(trace, beside, made, shard->index))
        findings.at(one, "The layer beside it has the dtype of the model.");
    }
  }
}

// A new layer put into a half-precision model that trains: model.head = nn.Linear(...).
void check_replaced_layers(const Trace& trace, Findings& findings) {
  for (const Event& set : trace.events) {
    if (!set.is(EventKind::kSetAttribute) || set.pass != 1 || set.subject == nullptr ||
        set.subject->type != Type::kModel)
      continue;
    const Object* layer = set.argument("", 0);
    if (layer == nullptr || !is_leaf_layer(*layer)) continue;
    const Object* model = root_of(set.subject);
    const int bits = made_bits(*layer), whole = stored_bits(model);
    if (!is_pretrained(model) || bits == 0 || whole == 0 || bits == whole) continue;
    const Event* shard = next_shard(trace, model, set.index);
    if (shard == nullptr || !compatible(set, *shard) || is_own_group(trace, layer)) continue;
    if (!is_cast_or_frozen(trace, layer, set.index, shard->index) && !is_frozen_model(trace, model, shard->index))
      findings.at(set, "The new layer is stored in another dtype than the model.");
  }
}

}  // namespace

void tied_weights_split(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& tie : trace.events) {
      if (!tie.is(EventKind::kSetAttribute) || tie.callee != "weight") continue;
      const Object* value = tie.argument("", 0);
      const Object* one = core_of(tie.receiver);
      const Object* other = value == nullptr || value->name != "weight" ? nullptr : core_of(value->parent);
      if (one == nullptr || other == nullptr || one == other) continue;
      const Event* first = group_of(trace, one, tie);
      const Event* second = group_of(trace, other, tie);
      if (first == nullptr && second == nullptr) continue;
      if (first == second) continue;  // one call for both, or for a module around both
      // Anchored at the call that shards one of the two itself, else at the first one around one of them.
      const Event* at = nullptr;
      for (const Event& event : trace.events) {
        if (!is_fsdp2(event) || at != nullptr || !compatible(event, tie)) continue;
        for (const Object* unit : shard_units(event)) {
          if (core_of(unit) == one || core_of(unit) == other) at = &event;
        }
      }
      if (at == nullptr && first != nullptr && second != nullptr) at = first->index < second->index ? first : second;
      if (at != nullptr) findings.at(*at);
    }
  }
}

void mixed_dtype_group(const Program& program, Findings& findings) {
  const bool other_default = program.calls("torch.set_default_dtype");
  for (const Trace& trace : program.traces()) {
    if (!trace.has(EventKind::kShard)) continue;
    if (!other_default) {
      check_made_layers(trace, findings);
      check_replaced_layers(trace, findings);
    }
    for (const Event& set : trace.events) {
      if (set.is(EventKind::kSetAttribute) && set.callee == "data" && set.pass == 1 && mixes_by_name(trace, set))
        findings.at(set);
    }
    for (const Event& cast : trace.events) {
      const int bits = cast_bits(cast);
      if (bits == 0 || cast.pass != 1 || cast.subject == nullptr || cast.subject->type != Type::kModel) continue;
      const Object* root = root_of(cast.subject);
      if (root == core_of(cast.subject)) continue;
      const Event* shard = next_shard(trace, root, cast.index);
      if (shard == nullptr || is_own_group(trace, cast.subject)) continue;
      int whole = stored_bits(root);
      for (std::uint32_t i = 0; i < shard->index; ++i) {
        const Event& event = trace.events[i];
        if (core_of(event.subject) != root || cast_bits(event) == 0) continue;
        whole = event.index > cast.index ? bits : cast_bits(event);
      }
      bool mixed = whole != 0 && whole != bits;
      for (const auto& [name, part] : root->members)
        mixed |= is_pretrained(part) && stored_bits(part) != 0 && stored_bits(part) != bits;
      if (mixed) findings.at(cast);
    }
  }
}

}  // namespace fx::knowledge::checks
