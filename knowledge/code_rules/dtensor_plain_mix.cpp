#include <algorithm>
#include <array>

#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

constexpr std::array<std::string_view, 15> kElementwise = {
    ".add_", ".sub_", ".mul_", ".div_", ".lerp_", ".copy_",   ".addcmul_",    ".addcdiv_",
    ".add",  ".sub",  ".mul",  ".lerp", ".dot",   ".maximum", ".masked_fill_"};

enum class Kind { kOther, kSharded, kPlain };

bool is_plain_factory(const Object* value) {
  for (const std::string_view name :
       {"torch.zeros", "torch.ones", "torch.randn", "torch.rand", "torch.full", "torch.empty", "torch.tensor"}) {
    if (value->callee == name) return value->made_by != nullptr && !value->made_by->list.empty();
  }
  return false;
}

// A single number in a tensor mixes with anything.
bool is_scalar_factory(const Object* value) {
  if (value->callee == "torch.tensor") return true;
  const Object* shape = main_of(value->made_by->get("size", 0));
  return shape == nullptr || (shape->type == Type::kSequence && shape->items.empty()) ||
         (shape->constant && shape->number <= 1);
}

bool from_a_file(const Object* value) {
  for (int i = 0; i < 8 && value != nullptr; ++i) {
    if (value->callee == "torch.load" || value->callee == "safetensors.torch.load_file") return true;
    value = main_of(value->receiver != nullptr ? value->receiver : value->parent);
  }
  return false;
}

// torch.randn(p.shape) * std
bool is_scaled_plain(const Object* value) {
  if (value->callee.size() > 2 || value->made_by == nullptr) return false;
  return std::ranges::any_of(value->made_by->list, [](const Argument& operand) {
    const Object* part = main_of(operand.value);
    return is_plain_factory(part) && !is_scalar_factory(part);
  });
}

// Plain: made from the parameters before they were sharded, or of a copy of the model that never was, or never sharded.
Kind kind_of(const Trace& trace, const Object* value, bool of_list) {
  value = main_of(value);
  if (of_list && value != nullptr && value->type == Type::kSequence && !value->items.empty())
    value = main_of(value->items.front());
  if (value == nullptr) return Kind::kOther;
  if (from_a_file(value) || (is_plain_factory(value) && !is_scalar_factory(value))) return Kind::kPlain;
  const Object* parameter = parameter_behind(value);
  const Object* model = model_of_parameter(parameter);
  if (of_list && value->type == Type::kParameters && !value->items.empty()) model = main_of(value->items.front());
  if (model == nullptr) return is_scaled_plain(value) ? Kind::kPlain : Kind::kOther;
  const Event* shard = next_shard(trace, model, 0);
  if (shard != nullptr && !is_fsdp2(*shard)) return Kind::kOther;
  if (shard == nullptr) {
    const Object* core = root_of(model);
    if (core->sharding == Sharding::kFsdp2 && core->callee != "copy.deepcopy") return Kind::kSharded;
    // The copy of a model that is sharded only later.
    const Object* original = core->callee == "copy.deepcopy" ? main_of(core->receiver) : nullptr;
    const Event* later = original == nullptr ? nullptr : next_shard(trace, original, 0);
    return later != nullptr && static_cast<int>(later->index) > core->created && is_fsdp2(*later) ? Kind::kPlain
                                                                                                  : Kind::kOther;
  }
  return value->created >= 0 && value->created < static_cast<int>(shard->index) ? Kind::kPlain : Kind::kSharded;
}

// if isinstance(p, DTensor): ... else: ...
bool tells_them_apart(const Event& event) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    const Object* test = main_of(guard->value);
    if (test == nullptr || test->callee != "isinstance" || test->made_by == nullptr || test->made_by->list.size() != 2)
      continue;
    if (ends_with_part(main_of(test->made_by->list[1].value)->name, "DTensor")) return true;
  }
  return false;
}

// of_lists: torch._foreach_add_(these, those)
bool is_mixed(const Trace& trace, const std::vector<const Object*>& sides, bool of_lists) {
  bool sharded = false, plain = false;
  for (const Object* side : sides) {
    const Kind kind = kind_of(trace, side, of_lists);
    sharded |= kind == Kind::kSharded;
    plain |= kind == Kind::kPlain;
  }
  return sharded && plain;
}

}  // namespace

void dtensor_plain_mix(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      const bool method =
          event.is(EventKind::kCall) && std::ranges::find(kElementwise, event.callee) != kElementwise.end();
      const bool of_lists = event.is(EventKind::kCall) && event.callee.starts_with("torch._foreach_");
      const bool function = of_lists || (event.is(EventKind::kCall) && event.callee == "torch.lerp");
      if ((!method && !function && !event.is(EventKind::kOperator)) || inside_forward(event) || tells_them_apart(event))
        continue;
      if (context_of(event, "torch.distributed.tensor.experimental.implicit_replication") != nullptr) continue;
      std::vector<const Object*> sides;
      if (method) sides.push_back(event.receiver);
      for (const Argument& argument : event.arguments->list) sides.push_back(argument.value);
      if (is_mixed(trace, sides, of_lists)) findings.at(event);
    }
  }
}

}  // namespace fx::knowledge::checks
