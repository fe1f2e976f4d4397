#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

std::optional<long long> literal_world(const Program& program) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      const Object* size = event.is(EventKind::kInitGroup) ? event.argument("world_size", 3) : nullptr;
      if (size != nullptr && size->constant && size->type == Type::kNumber && size->number > 0)
        return static_cast<long long>(size->number);
    }
  }
  return std::nullopt;
}

std::optional<long long> literal_product(const Object* shape) {
  if (shape == nullptr || shape->type != Type::kSequence || shape->items.empty() || shape->element) return std::nullopt;
  double product = 1;
  for (const Object* item : shape->items) {
    const Object* size = main_of(item);
    if (!size->constant || size->type != Type::kNumber || size->number < 1 || size->number > 1e6) return std::nullopt;
    product *= size->number;
  }
  return product > 1e9 ? std::nullopt : std::optional(static_cast<long long>(product));
}

bool is_shard_name(std::string_view name) {
  return contains_ignoring_case(name, "shard") || contains_ignoring_case(name, "fsdp");
}
bool is_replicate_name(std::string_view name) {
  return contains_ignoring_case(name, "repl") || contains_ignoring_case(name, "ddp") ||
         contains_ignoring_case(name, "hsdp_outer");
}

std::vector<std::string_view> dimension_names(const Event& mesh) {
  std::vector<std::string_view> names;
  const Object* given = mesh.argument("mesh_dim_names", 2);
  if (given == nullptr || given->type != Type::kSequence) return names;
  for (const Object* item : given->items) {
    const Object* name = main_of(item);
    if (name->type != Type::kText || !name->constant) return {};
    names.push_back(name->name);
  }
  return names;
}

// Handed to the sharding call as it is, not a slice of it.
bool shards_over(const Program& program, const Object* mesh) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kShard)) continue;
      if (event.argument("mesh") == mesh || event.argument("device_mesh") == mesh) return true;
    }
  }
  return false;
}

}  // namespace

void mesh_shape_mismatch(const Program& program, Findings& findings) {
  const auto world = program.context().world_size() ? program.context().world_size() : literal_world(program);
  if (!world) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kMesh) || last_part(event.callee) != "init_device_mesh") continue;
      const auto product = literal_product(event.argument("mesh_shape", 1));
      if (product && *product != *world)
        findings.at(event, "The mesh holds " + std::to_string(*product) + " ranks, the run has " +
                               std::to_string(*world) + ".");
    }
  }
}

void hsdp_mesh_order_reversed(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kMesh)) continue;
      const auto names = dimension_names(event);
      if (names.size() == 2 && is_shard_name(names[0]) && !is_replicate_name(names[0]) && is_replicate_name(names[1]) &&
          shards_over(program, event.result))
        findings.at(event);
    }
  }
}

}  // namespace fx::knowledge::checks
