#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

bool keeps_parameters(const Event& shard) {
  return is_fsdp1(shard) && !is_absent(shard, "use_orig_params");
}

// AdamW(net.param_groups(0.1)): a method of the model chose them. That it is a model may turn out only later.
const Object* model_optimized(const Event& built) {
  if (built.subject != nullptr) return built.subject;
  const Object* groups = built.argument("params", 0);
  if (groups == nullptr || !groups->callee.starts_with(".") || !mentions(groups->callee, {"param", "group"}))
    return nullptr;
  const Object* model = main_of(groups->receiver);
  return model != nullptr && model->type == Type::kModel ? model : nullptr;
}

bool is_stepped(const Trace& trace, const Object* optimizer) {
  return std::ranges::any_of(
      trace.events, [&](const Event& event) { return event.is(EventKind::kStep) && event.subject == optimizer; });
}

// The model gets another optimizer after sharding, and this one is never stepped.
bool is_replaced(const Trace& trace, const Event& built, const Event& shard) {
  const Object* model = model_optimized(built);
  if (is_stepped(trace, built.result)) return false;
  return std::ranges::any_of(trace.events, [&](const Event& later) {
    return later.index > shard.index && later.is(EventKind::kOptimizer) && same_model(model_optimized(later), model);
  });
}

// A list that was put together before: what is in it, and in which order, was chosen there.
bool walks_a_list(const Loop& loop) {
  const Object* over = main_of(loop.iterable);
  if (over != nullptr && over->callee == "enumerate" && !over->items.empty()) over = main_of(over->items.back());
  return over == nullptr || over->type == Type::kSequence;
}

// Walks modules() from the top without choosing: the root comes first.
bool walks_from_the_top(const Trace& trace, const Event& shard) {
  const Object* unit = shard.subject;
  if (unit == nullptr || !unit->element || unit->reversed ||
      (unit->callee != ".modules" && unit->callee != ".named_modules"))
    return false;
  return shard.loop != nullptr && !walks_a_list(*shard.loop) &&
         condition_within_loop(trace, shard, *shard.loop) == nullptr;
}

// A walk over modules() that picks modules by their class, the root's own class among them.
bool walk_picks_the_root(const Event& shard) {
  const Object* unit = shard.subject;
  if (unit == nullptr || !unit->element || (unit->callee != ".modules" && unit->callee != ".named_modules"))
    return false;
  const Object* root = root_of(unit);
  return root != unit && std::ranges::any_of(classes_asked_for(shard.guard, shard.subject),
                                             [&](const Object* of) { return is_instance(root, of); });
}

// The root, picked by its class, comes before parts: of the same walk from the top, or of a later call.
void check_picked_root(const Trace& trace, const Event& outer, Findings& findings) {
  if (!walk_picks_the_root(outer)) return;
  if (classes_asked_for(outer.guard, outer.subject).size() > 1) {
    if (!outer.subject->reversed && outer.loop != nullptr && !walks_a_list(*outer.loop))
      findings.at(outer, "The walk meets the whole model before its parts.");
    return;
  }
  for (const Event& inner : trace.events) {
    if (inner.index > outer.index && inner.pass == 1 && is_fsdp2(inner) && compatible(outer, inner) &&
        inner.subject != outer.subject && !walk_picks_the_root(inner) &&
        strictly_inside(inner.subject, root_of(outer.subject)))
      findings.at(outer, "The root's own class is picked first, parts of it are sharded later.");
  }
}

// A condition of the walk decides for each module, and nothing says that it holds for this one.
bool is_chosen(const Event& shard) {
  if (shard.frame == nullptr || shard.frame->function == nullptr) return false;
  const Node body = shard.frame->function->node;
  for (const Guard* guard = shard.guard; guard != nullptr; guard = guard->outer) {
    const bool of_the_walk =
        guard->file == shard.file && guard->statement.begin() >= body.begin() && guard->statement.end() <= body.end();
    if (!of_the_walk) continue;
    const auto classes = classes_asked_for(guard, shard.subject);
    const Object* module = core_of(shard.subject);
    if (std::ranges::none_of(classes, [&](const Object* of) { return is_instance(module, of); })) return true;
  }
  return false;
}

// visit(part) and visit(inner), or two turns of a loop that a recursive generator drives.
bool of_one_walk(const Event& outer, const Event& inner) {
  if (outer.node == inner.node) return true;
  for (const Loop* loop = outer.loop; loop != nullptr; loop = loop->outer) {
    if (inside(inner, loop)) return true;
  }
  return false;
}

bool may_be_wrapped_elsewhere(const Trace& trace, const Object* model) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    if (!event.is(EventKind::kCall) || event.arguments == nullptr || event.callee.starts_with("torch.")) return false;
    const bool named = contains_ignoring_case(event.callee, "shard") || contains_ignoring_case(event.callee, "wrap") ||
                       contains_ignoring_case(event.callee, "fsdp") || contains_ignoring_case(event.callee, "parallel");
    return named && std::ranges::any_of(event.arguments->list,
                                        [&](const Argument& argument) { return same_model(argument.value, model); });
  });
}

// net.get_decoder().layers, layers_of(net): what was made with the model may be a part of it.
bool comes_from(const Object* unit, const Object* model) {
  constexpr int kMaxSteps = 12;
  const Object* at = core_of(unit);
  for (int i = 0; at != nullptr && i < kMaxSteps; ++i) {
    if (same_model(at, model)) return true;
    const bool handed = at->made_by != nullptr && std::ranges::any_of(at->made_by->list, [&](const Argument& given) {
                          return same_model(given.value, model);
                        });
    if (handed) return true;
    at = core_of(at->parent != nullptr ? at->parent : at->receiver);
  }
  return false;
}

}  // namespace

void optimizer_before_shard(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& built : trace.events) {
      if (!built.is(EventKind::kOptimizer) || built.pass != 1) continue;
      const Object* model = model_optimized(built);
      if (model == nullptr) continue;
      for (const Event& shard : trace.events) {
        if (shard.index < built.index || !shard.is(EventKind::kShard) || !same_model(shard.subject, model)) continue;
        if (keeps_parameters(shard) || !compatible(built, shard) || is_replaced(trace, built, shard)) continue;
        findings.at(built, "The model is sharded later, in line " + std::to_string(shard.line()) + ".");
      }
    }
  }
}

void root_sharded_before_blocks(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& outer : trace.events) {
      if (!is_fsdp2(outer) || outer.pass != 1) continue;
      if (walks_from_the_top(trace, outer)) findings.at(outer, "The walk meets the whole model before its parts.");
      check_picked_root(trace, outer, findings);
      for (const Event& inner : trace.events) {
        if (inner.index <= outer.index || !is_fsdp2(inner) || inner.pass != 1 || !compatible(outer, inner)) continue;
        if (of_one_walk(outer, inner) && is_chosen(outer)) continue;
        for (const Object* unit : shard_units(inner)) {
          if (strictly_inside(unit, outer.subject) && shard_units(outer).size() == 1)
            findings.at(outer, "A part of it is sharded later, in line " + std::to_string(inner.line()) + ".");
        }
      }
    }
  }
}

void only_root_sharded(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& shard : trace.events) {
      if (!shard.is(EventKind::kShard) || shard.pass != 1 || shard.subject == nullptr || shard_units(shard).size() != 1)
        continue;
      const Object* model = core_of(shard.subject);
      if (shard.subject->element || model->parent != nullptr || (!is_pretrained(model) && !has_visible_blocks(model)))
        continue;
      if (is_fsdp1(shard) && !is_absent(shard, "auto_wrap_policy", 4)) continue;
      const bool others = std::ranges::any_of(trace.events, [&](const Event& other) {
        if (!other.is(EventKind::kShard) || other.node == shard.node) return false;
        return std::ranges::any_of(shard_units(other),
                                   [&](const Object* unit) { return comes_from(unit, shard.subject); });
      });
      if (!others && !may_be_wrapped_elsewhere(trace, model)) findings.at(shard);
    }
  }
}

}  // namespace fx::knowledge::checks
