#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

bool computes(const Trace& trace, const Loop& loop) {
  for (std::uint32_t i = loop.begin; i < loop.end && i < trace.events.size(); ++i) {
    const EventKind kind = trace.events[i].kind;
    if (kind == EventKind::kForward || kind == EventKind::kBackward) return true;
  }
  return false;
}

// Not a loss function, its weight or who keeps count of losses.
bool names_a_loss(std::string_view name) {
  return contains_ignoring_case(name, "loss") && !mentions(name, {"manager", "tracker", "meter", "scaler", "_fn",
                                                                  "func", "module", "config", "weight", "logger"});
}

// Made from the item of a turn, from what a model gave, from a loss or a clock: other ranks have others.
bool is_own_data(const Trace& trace, const Event& jump, const Object& object) {
  const bool flag = object.type == Type::kBool || object.type == Type::kNumber;  // is_last_batch
  if (!flag && object.name.ends_with("batch")) return object.has(kLocal);
  if (object.callee.starts_with("time.") || object.callee == "next" || names_a_loss(object.name)) return true;
  if (object.callee == "()" && object.receiver != nullptr && object.receiver->type == Type::kModel) return true;
  if (object.type == Type::kModel || !object.element) return false;
  for (const Loop* loop = jump.loop; loop != nullptr; loop = loop->outer) {
    if (object.node == loop->node) return computes(trace, *loop);
  }
  return false;
}

// What kind of thing it is, not what is in it: the same for the batches of all ranks.
bool asks_for_the_form(const Object& value) {
  for (const std::string_view callee : {".dim", ".keys", ".is_floating_point", "isinstance", "hasattr", "callable"}) {
    if (value.callee == callee) return true;
  }
  return value.name == "shape" || value.name == "ndim" || value.name == "dtype" || value.name == "device";
}

// What a model or a helper gives is there or not on all ranks alike; a batch may be missing on one of them.
bool asks_whether_a_result_is_there(const Object& value) {
  if ((value.callee != "is" && value.callee != "is not") || value.made_by == nullptr) return false;
  const Object* of = main_of(value.made_by->list.front().value);
  for (const std::string_view taken : {"next", ".get", ".pop", "[]"}) {
    if (of->callee == taken) return false;
  }
  return !of->element && !contains_ignoring_case(of->name, "batch");
}

// What a thing is told does not decide what one of its attributes says: only its own origin is looked at then.
bool comes_from_own_data(const Trace& trace, const Event& jump, const Object* value, bool attribute, int& budget) {
  if (value == nullptr || --budget < 0 || asks_for_the_form(*value) || asks_whether_a_result_is_there(*value))
    return false;
  if (is_own_data(trace, jump, *value)) return true;
  for (const Object* item : value->items) {
    const bool follow = value->type == Type::kUnion || value->callee == "comprehension";
    if (follow && comes_from_own_data(trace, jump, item, attribute, budget)) return true;
  }
  if (comes_from_own_data(trace, jump, value->receiver, attribute, budget)) return true;
  // self.bad += 1 under `if loss > best`: what decided it decides what follows from it.
  for (const Guard* guard = value->has(kLocal) ? value->guard : nullptr; guard != nullptr; guard = guard->outer) {
    if (under(jump, guard) || (guard->taints & kLocal) == 0 || (guard->taints & kReduced) != 0) continue;
    if (comes_from_own_data(trace, jump, guard->value, false, budget)) return true;
  }
  if (value->parent != value->receiver && comes_from_own_data(trace, jump, value->parent, true, budget)) return true;
  if (value->made_by == nullptr || (attribute && value->callee.starts_with("."))) return false;
  for (const Argument& argument : value->made_by->list) {
    if (comes_from_own_data(trace, jump, argument.value, attribute, budget)) return true;
  }
  return false;
}

// What can be imported is the same on all ranks.
bool is_missing_import(const Guard& guard) {
  if (guard.kind != GuardKind::kExcept) return false;
  const std::string_view clause = guard.test.text().substr(0, guard.test.text().find(':'));
  if (contains(clause, "ImportError") || contains(clause, "ModuleNotFoundError")) return true;
  const std::vector<Node> tried = guard.statement.child("body").children();
  return !tried.empty() && std::ranges::all_of(tried, [](Node statement) {
    return statement.is("import_statement") || statement.is("import_from_statement");
  });
}

bool depends_on_own_data(const Trace& trace, const Event& jump, const Guard& guard) {
  int budget = 300;
  return guard.kind == GuardKind::kExcept || comes_from_own_data(trace, jump, guard.value, false, budget);
}

const Guard* local_condition(const Trace& trace, const Event& event) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (!guard->implied && (guard->taints & kLocal) != 0 && (guard->taints & kRank) == 0 &&
        !is_missing_import(*guard) && depends_on_own_data(trace, event, *guard))
      return guard;
  }
  return nullptr;
}

// Of the branch for the ranks that do not leave: theirs alone anyway.
bool in_other_branch(const Event& event, const Guard& guard) {
  for (const Guard* at = event.guard; at != nullptr; at = at->outer) {
    if (at->test == guard.test && at->positive != guard.positive && !at->implied) return true;
  }
  return false;
}

// The events of a trace in which all ranks must take part.
std::vector<const Event*> joint_events(const Trace& trace) {
  std::vector<const Event*> joint;
  for (const Event& event : trace.events) {
    if (is_joint(trace, event)) joint.push_back(&event);
  }
  return joint;
}

bool skips_some(const Event& jump, const std::vector<const Event*>& joint) {
  return std::ranges::any_of(
      joint, [&](const Event* event) { return event->index > jump.index && event->index < jump.skip_end; });
}

// if self.mesh is None: self.mesh = init_device_mesh(...)
bool is_made_on_first_use(const Event& event) {
  if (!event.is(EventKind::kMesh) && !event.is(EventKind::kNewGroup)) return false;
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (guard->positive && contains(guard->test.text(), "is None")) return true;
  }
  return false;
}

// The first event that the jump skips and that the other ranks need this one for.
const Event* skipped_joint(const Program& program, const std::vector<const Event*>& joint, const Trace& trace,
                           const Event& jump, const Guard& guard) {
  Event staying;  // a rank for which the condition fails
  staying.guard = guard.outer;
  staying.pass = jump.pass;
  for (const Event* other : joint) {
    const Event& event = *other;
    if (event.index <= jump.index || event.index >= jump.skip_end || under(event, &guard) ||
        !compatible(staying, event) || in_other_branch(event, guard))
      continue;
    if (event.is(EventKind::kStateDict) && !gathers_state(program, trace, event)) continue;
    if (is_made_on_first_use(event)) continue;
    if (guard.taints & kRank && for_its_own_group(event)) continue;
    return &event;
  }
  return nullptr;
}

// `except ...: continue` around a step: the rank that fails is out of the step while the others are in its collectives.
bool leaves_a_step(const std::vector<const Event*>& joint, const Event& jump, const Guard& guard) {
  if (guard.kind != GuardKind::kExcept || jump.callee != "continue") return false;
  const std::string_view clause = guard.test.text().substr(0, guard.test.text().find(':'));
  if (contains(clause, "KeyboardInterrupt")) return false;
  // A loop of its own within the handler is another one.
  if (jump.loop == nullptr || jump.loop->file != guard.file || !within(guard.statement, jump.loop->node)) return false;
  const Node body = guard.statement.child("body");
  return std::ranges::any_of(joint, [&](const Event* event) {
    return event->index < jump.index && event->pass == jump.pass && !event->is(EventKind::kStateDict) &&
           !event->is(EventKind::kMesh) && !event->is(EventKind::kNewGroup) && reached_from(*event, guard.file, body);
  });
}

// A helper that knows nothing of ranks refuses what it was given, or hands on what failed: on no rank of a healthy job.
bool raises_in_a_helper(const Event& jump, const Guard& of_rank) {
  const Function* function = jump.frame == nullptr ? nullptr : jump.frame->function;
  return jump.callee == "raise" && function != nullptr &&
         (function->file != of_rank.file || !within(of_rank.statement, function->node));
}

// Says that the program is wrong, which shows on the first run.
bool is_a_slip(const Event& jump) {
  const std::string_view raised = jump.node.first_child().text();
  return jump.callee == "raise" && (raised.starts_with("TypeError") || raised.starts_with("NotImplementedError"));
}

// `if dist.get_rank() != int(os.environ["RANK"]): raise`: two things that ought to agree on every rank.
bool compares_two_ranks(const Guard& guard) {
  if (contains(guard.test.text(), "environ") && contains(guard.test.text(), "!=")) return true;
  const Object* test = guard.value;
  if (test != nullptr && test->type == Type::kUnion && test->callee == "and" && test->made_by != nullptr)
    test = test->made_by->list.back().value;  // "RANK" in os.environ and os.environ["RANK"] != rank
  test = main_of(test);
  if (test == nullptr || test->callee != "!=" || test->made_by == nullptr) return false;
  return std::ranges::none_of(test->made_by->list, [](const Argument& side) { return main_of(side.value)->constant; });
}

// The ranks that leave have made the same call before, under the same condition: each rank makes it once.
bool has_made_its_own(const Trace& trace, const Event& jump, const Event& skipped, const Guard& guard) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    return event.index < jump.index && event.pass == jump.pass && event.kind == skipped.kind &&
           event.callee == skipped.callee && under(event, &guard) &&
           (guard.file != jump.file || within(jump.node, guard.statement));
  });
}

// `if not 0 <= rank < size: raise`: fails on no rank of a healthy job.
bool checks_a_range(const Guard& guard) {
  return guard.test.text().find_first_of("<>") != std::string_view::npos;
}

// An endless generator that passes over an item yields another one: who consumes it misses nothing.
bool only_picks_the_next_item(const Event& jump) {
  if (jump.callee != "continue" && jump.callee != "break") return false;
  for (const Frame* frame = jump.frame; frame != nullptr && frame->function != nullptr && frame->function->is_generator;
       frame = frame->caller) {
    const Node body = frame->function->node;
    for (const Loop* loop = jump.loop; loop != nullptr; loop = loop->outer) {
      if (loop->file == frame->function->file && loop->node.begin() >= body.begin() && loop->node.end() <= body.end() &&
          (loop->taints & kEndless) != 0)
        return true;
    }
  }
  return false;
}

// `if i % world != rank: continue` in a generator: each rank takes its share, the others go on with theirs.
bool deals_out_items(const Event& jump) {
  const Function* function = jump.frame == nullptr ? nullptr : jump.frame->function;
  return jump.callee == "continue" && function != nullptr && function->is_generator && jump.loop != nullptr &&
         jump.loop->file == function->file && within(jump.loop->node, function->node);
}

bool is_iterator_end(const Guard& guard) {
  return guard.kind == GuardKind::kExcept &&
         contains(guard.test.text().substr(0, guard.test.text().find(':')), "StopIteration");
}

// Everything in the trace that some rank-independent reading of the condition makes equal: a vote inside the condition.
bool agreed(const Guard& guard) {
  return (guard.taints & kReduced) != 0 && (guard.taints & kRank) == 0;
}

}  // namespace

void rank_guarded_exit(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    const std::vector<const Event*> joint = joint_events(trace);
    for (const Event& jump : trace.events) {
      if (!jump.is(EventKind::kJump) || !skips_some(jump, joint)) continue;
      const Guard* guard = rank_condition(jump, false);
      if (guard == nullptr || spares_sharded_runs(*guard) || raises_in_a_helper(jump, *guard) || is_a_slip(jump) ||
          deals_out_items(jump))
        continue;
      if (jump.callee == "raise" && (checks_a_range(*guard) || compares_two_ranks(*guard))) continue;
      const Event* skipped = skipped_joint(program, joint, trace, jump, *guard);
      // A gather of state behind `if rank != 0: return` or continue is state-dict-under-rank-guard.
      if (skipped == nullptr || (skipped->is(EventKind::kStateDict) && rank_condition(*skipped, true) != nullptr))
        continue;
      if (has_made_its_own(trace, jump, *skipped, *guard)) continue;
      findings.at(jump, "Ranks that leave here skip '" + quote_input(skipped->node.text(), 60) + "' in line " +
                            std::to_string(skipped->line()) + ".");
    }
  }
}

void rank_local_skip(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    const std::vector<const Event*> joint = joint_events(trace);
    if (joint.empty()) continue;
    for (const Event& jump : trace.events) {
      if (!jump.is(EventKind::kJump) || jump.callee == "raise" || jump.callee == "exit") continue;
      if (jump.callee != "continue" && !skips_some(jump, joint)) continue;  // a continue may leave a step
      const Guard* guard = local_condition(trace, jump);
      if (guard == nullptr || is_iterator_end(*guard) || agreed(*guard) || only_picks_the_next_item(jump)) continue;
      const Event* skipped = skipped_joint(program, joint, trace, jump, *guard);
      if (skipped == nullptr) {
        if (leaves_a_step(joint, jump, *guard))
          findings.at(jump, "A rank that fails inside of the step goes on alone, the others wait in it.");
        continue;
      }
      findings.at(jump, "Whether a rank leaves here depends on its own data; it then skips '" +
                            quote_input(skipped->node.text(), 60) + "' in line " + std::to_string(skipped->line()) +
                            ".");
    }
  }
}

}  // namespace fx::knowledge::checks
