#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

// An attribute of a class, "experts.*" for items of one. nullptr: of a model whose class is not seen.
using Place = std::pair<const Class*, std::string>;

std::optional<Place> place_of(const Object* module) {
  const Object* holder = module == nullptr ? nullptr : core_of(module->parent);
  if (holder == nullptr || module->name == "item") return std::nullopt;
  if (!module->element) return Place(holder->of_class, module->name);
  const Object* owner = core_of(holder->parent);
  if (owner == nullptr) return std::nullopt;
  return Place(owner->of_class, std::string(holder->name) + ".*");
}

// Attributes of module classes that some code makes an FSDP group of their own.
std::set<Place> own_groups(const Program& program) {
  std::set<Place> places;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kShard)) continue;
      if (auto place = place_of(event.subject)) places.insert(std::move(*place));
    }
  }
  return places;
}

// The classes that a walk over modules() picks for sharding: `if isinstance(m, Expert): fully_shard(m)`.
std::set<std::string, std::less<>> picked_classes(const Program& program) {
  std::set<std::string, std::less<>> names;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kShard) || event.subject == nullptr || !event.subject->element) continue;
      for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
        const Object* test = main_of(guard->value);
        if (!guard->positive || test == nullptr || test->callee != "isinstance" || test->made_by->list.size() != 2)
          continue;
        const Object* classes = main_of(test->made_by->list[1].value);
        names.emplace(last_part(classes->name));
        for (const Object* one : classes->items) names.emplace(last_part(main_of(one)->name));
      }
    }
  }
  names.erase("");
  return names;
}

// Of a module, or of the items of the list it is one of.
std::string_view class_name_of(const Object* module) {
  const Object* core = core_of(module);
  if (core->of_class != nullptr) return core->of_class->name;
  const Object* list = core->element ? core_of(core->parent) : nullptr;
  if (list == nullptr || list->items.empty()) return last_part(core->callee);
  const Object* item = core_of(list->items.front());
  return item->of_class != nullptr ? item->of_class->name : last_part(item->callee);
}

bool is_in_function(const Guard& guard, const Function* function) {
  return function != nullptr && guard.file == function->file && within(guard.statement, function->node);
}

// The same condition in the same sense, also of another call of the function.
bool holds_for(const Event& event, const Guard& condition) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (guard->test == condition.test && guard->positive == condition.positive) return true;
  }
  return false;
}

// `if embeds is None: embeds = self.embed(ids)`: the module stands in for what was not given.
bool asks_for_absence(const Guard& guard) {
  const Object* test = main_of(guard.value);
  const bool compares = test != nullptr && test->made_by != nullptr && test->made_by->list.size() == 2 &&
                        main_of(test->made_by->list[1].value)->type == Type::kNone;
  return compares && test->callee == (guard.positive ? "is" : "is not");
}

// Holds because another branch raised: in a healthy job it always does.
bool follows_a_check(const Guard& guard) {
  const Node branch = guard.positive ? guard.statement.child("alternative") : guard.statement.child("consequence");
  return guard.implied && contains(branch.text(), "raise ");
}

// The innermost condition of the forward, or of a helper that it calls, that depends on what the forward was given.
const Guard* condition_of_forward(const Event& event) {
  const Frame* forward = event.frame;
  while (forward != nullptr && (forward->function == nullptr || forward->function->name != "forward"))
    forward = forward->caller;
  if (forward == nullptr) return nullptr;
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if ((guard->taints & kLocal) == 0 || (guard->taints & kReduced) != 0 || follows_a_check(*guard) ||
        asks_for_absence(*guard))
      continue;
    for (const Frame* frame = event.frame; frame != forward->caller; frame = frame->caller) {
      if (is_in_function(*guard, frame->function)) return guard;
    }
  }
  return nullptr;
}

}  // namespace

void conditional_module_per_rank(const Program& program, Findings& findings) {
  const auto places = own_groups(program);
  const auto classes = picked_classes(program);
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      const bool runs = event.is(EventKind::kForward) || event.is(EventKind::kForwardMethod);
      const Guard* guard = runs ? condition_of_forward(event) : nullptr;
      if (guard == nullptr || event.subject == nullptr) continue;
      const auto place = place_of(event.subject);
      const bool known =
          place && (places.contains(*place) || (!place->second.empty() && places.contains({nullptr, place->second})));
      const bool grouped = known || classes.contains(class_name_of(event.subject));
      const bool always = std::ranges::any_of(trace.events, [&](const Event& other) {
        return other.subject == event.subject &&
               (other.is(EventKind::kForward) || other.is(EventKind::kForwardMethod)) && other.pass == event.pass &&
               !holds_for(other, *guard);
      });
      if (grouped && !always) findings.at(guard->file, guard->statement);
    }
  }
}

}  // namespace fx::knowledge::checks
