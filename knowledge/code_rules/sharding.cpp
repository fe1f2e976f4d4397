#include "knowledge/code_rules/sharding.h"

#include <algorithm>
#include <array>

#include "knowledge/code/names.h"

namespace fx::knowledge {

using namespace code;

namespace {

constexpr int kMaxSteps = 40;  // from a value back to a parameter
// Conversions to plain tensors, and reductions to a number, which mixes with anything.
constexpr std::array<std::string_view, 13> kLeaveParameters = {".to_local", ".full_tensor", ".item", ".tolist", ".norm",
                                                               ".sum",      ".mean",        ".max",  ".min",    ".std",
                                                               ".var",      ".numel",       ".size"};
constexpr std::array<std::string_view, 9> kBlockNames = {
    "layers", "blocks", "h", "encoder_layers", "decoder_layers", "block", "layer", "stages", "units"};

constexpr std::array<std::string_view, 9> kLikeTheirArgument = {
    "torch.zeros_like", "torch.ones_like", "torch.empty_like", "torch.rand_like", "torch.randn_like",
    "torch.abs",        "torch.sign",      "torch.clone",      "torch.where"};

bool is_elementwise(std::string_view callee) {
  return std::ranges::find(kLikeTheirArgument, callee) != kLikeTheirArgument.end();
}

bool is_block_list(const Object* object) {
  return object->callee == "torch.nn.ModuleList" && !object->items.empty();
}

}  // namespace

bool is_fsdp1(const Event& shard) {
  return shard.is(EventKind::kShard) && shard.result != nullptr && shard.callee != "torch.distributed.fsdp.fully_shard";
}

bool is_fsdp2(const Event& shard) {
  return shard.is(EventKind::kShard) && shard.callee == "torch.distributed.fsdp.fully_shard";
}

std::vector<const Object*> shard_units(const Event& shard) {
  const Object* given = shard.argument("module", 0);
  if (given == nullptr || given->type != Type::kSequence) return {shard.subject};
  std::vector<const Object*> units;
  for (const Object* item : given->items) units.push_back(main_of(item));
  return units;
}

bool is_absent(const Event& event, std::string_view name, int position) {
  if (event.arguments == nullptr) return true;
  const Object* value = main_of(event.arguments->get(name, position));
  return value == nullptr ? !event.arguments->has_unknown() : value->is_false();
}

bool strictly_inside(const Object* part, const Object* whole) {
  return part != nullptr && whole != nullptr && core_of(part) != core_of(whole) && lies_in(part, whole);
}

const Event* next_shard(const Trace& trace, const Object* model, std::uint32_t from) {
  for (std::size_t i = from; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (!event.is(EventKind::kShard)) continue;
    for (const Object* unit : shard_units(event)) {
      if (same_model(unit, model)) return &event;
    }
  }
  return nullptr;
}

std::vector<const Event*> shards_by_name(const Program& program, const Object* model) {
  const auto is_given = [](const Object* root) {
    return root->made_by == nullptr && root->callee.empty() && root->of_class == nullptr && !root->name.empty();
  };
  const Object* root = root_of(model);
  if (root == nullptr || !is_given(root)) return {};
  std::vector<const Event*> shards;
  for (const Trace& trace : program.traces()) {
    for (const std::uint32_t index : trace.wraps) {
      const Event& event = trace.events[index];
      const Object* other = root_of(event.subject);
      if (event.subject->element) continue;  // of a list of layers
      if (other == nullptr || !is_given(other) || other->name != root->name) return {};
      if (event.is(EventKind::kShard)) shards.push_back(&event);
    }
  }
  return shards;
}

ShardedClasses sharded_classes(const Program& program) {
  ShardedClasses classes;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kShard)) continue;
      const Object* core = core_of(event.subject);
      if (core == nullptr || core->of_class == nullptr) continue;
      classes.emplace(core->of_class, is_fsdp2(event) ? Sharding::kFsdp2 : Sharding::kFsdp1);
    }
  }
  return classes;
}

namespace {

const Object* parameter_within(const Object* value, int& budget);

// p > cut, p * mask, torch.zeros_like(p): as long as the parameter.
const Object* operand_within(const Object& value, int& budget) {
  const bool computed = value.type == Type::kBool || value.callee.size() <= 2;
  if (value.made_by == nullptr || (!computed && !is_elementwise(value.callee))) return nullptr;
  for (const Argument& operand : value.made_by->list) {
    if (const Object* parameter = parameter_within(operand.value, budget)) return parameter;
  }
  return nullptr;
}

const Object* parameter_within(const Object* value, int& budget) {
  while (value != nullptr && --budget >= 0) {
    value = main_of(value);
    if (value->callee == "()" || std::ranges::find(kLeaveParameters, value->callee) != kLeaveParameters.end())
      return nullptr;
    const Object* owner = value->parent == nullptr ? nullptr : main_of(value->parent);
    if (value->element && owner != nullptr && owner->type == Type::kParameters) return value;
    if (owner != nullptr && (value->name == "data" || value->name == "grad")) {
      value = owner;
    } else if (const Object* parameter = operand_within(*value, budget)) {
      return parameter;
    } else {
      value = value->receiver;
    }
  }
  return nullptr;
}

}  // namespace

const Object* parameter_behind(const Object* value) {
  int budget = kMaxSteps;
  return parameter_within(value, budget);
}

const Object* model_of_parameter(const Object* parameter) {
  const Object* all = parameter == nullptr ? nullptr : main_of(parameter->parent);
  return all == nullptr || all->items.empty() ? nullptr : main_of(all->items.front());
}

bool has_visible_blocks(const Object* model) {
  std::vector<const Object*> open = {core_of(model)};
  for (int i = 0; i < 64 && !open.empty(); ++i) {
    const Object* at = open.back();
    open.pop_back();
    for (const auto& [name, value] : at->members) {
      const Object* part = main_of(value);
      if (part->type != Type::kModel || part->parent != at) continue;
      if (is_block_list(part) || (part->callee.empty() && std::ranges::find(kBlockNames, name) != kBlockNames.end()))
        return true;
      open.push_back(part);
    }
  }
  return false;
}

bool is_pretrained(const Object* model) {
  const Object* core = core_of(model);
  return core != nullptr && ends_with_part(core->callee, "from_pretrained");
}

bool is_leaf_layer(const Object& part) {
  constexpr std::array<std::string_view, 9> kLayers = {"Linear", "Embedding", "LayerNorm", "RMSNorm",  "Conv1d",
                                                       "Conv2d", "Conv3d",    "Bilinear",  "Parameter"};
  return part.callee.starts_with("torch.nn.") && part.made_by != nullptr &&
         std::ranges::find(kLayers, last_part(part.callee)) != kLayers.end();
}

}  // namespace fx::knowledge
