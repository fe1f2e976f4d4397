#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool is_fsdp1(const Event& shard) {
  return ends_with_part(shard.callee, "FullyShardedDataParallel");
}

// use_orig_params is False or left out.
bool is_flat(const Event& shard) {
  if (shard.arguments == nullptr || shard.arguments->has_unknown()) return false;
  const Object* keeps = shard.argument("use_orig_params");
  return keeps == nullptr || keeps->is_false();
}

// One of a list of modules, which one is not known.
bool is_item(const Object& part) {
  return part.element || part.callee == "[]" || part.name == "item";
}

// The same module, or the same place in a list of modules.
bool same_part(const Object* a, const Object* b) {
  a = core_of(a);
  b = core_of(b);
  if (a == nullptr || b == nullptr) return false;
  if (a == b) return true;
  return a->parent != nullptr && core_of(a->parent) == core_of(b->parent) && is_item(*a) && is_item(*b);
}

bool inside_of(const Object* part, const Object* whole) {
  return core_of(part) != core_of(whole) && lies_in(part, whole) && !same_part(part, whole);
}

// module.compile() too where only later calls show that it is a module.
bool is_compile(const Event& event) {
  if (event.is(EventKind::kCompile)) return event.subject != nullptr;
  return event.is(EventKind::kCall) && event.callee == ".compile" && event.subject != nullptr &&
         event.subject->type == Type::kModel;
}

}  // namespace

void compile_fsdp_order(const Program& program, Findings& findings) {
  const bool old_torch = program.context().torch_below(2, 13);
  for (const Trace& trace : program.traces()) {
    for (const Event& compile : trace.events) {
      if (!is_compile(compile)) continue;
      const bool in_place = compile.callee.starts_with(".");
      for (const Event& shard : trace.events) {
        if (!shard.is(EventKind::kShard) || !same_model(shard.subject, compile.subject) || !compatible(shard, compile))
          continue;
        if (is_fsdp1(shard)) {
          if (shard.index < compile.index && is_flat(shard)) findings.at(compile, "The model has flat parameters.");
        } else if (inside_of(shard.subject, compile.subject)) {
          findings.at(compile, "One compiled region holds sharded blocks.");
        } else if (!in_place && old_torch && shard.index < compile.index && same_turn(shard, compile) &&
                   same_part(shard.subject, compile.subject)) {
          findings.at(compile, "This module is sharded already.");
        }
      }
    }
  }
}

}  // namespace fx::knowledge::checks
