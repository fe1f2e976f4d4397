#include "knowledge/code/trace.h"

#include <algorithm>

#include "knowledge/code/names.h"
#include "knowledge/code/program.h"

namespace fx::knowledge::code {
namespace {

const Guard* find_guard(const Event& event, Taints wanted, Taints unwanted) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if ((guard->taints & wanted) != 0 && (guard->taints & unwanted) == 0) return guard;
  }
  return nullptr;
}

bool is_training(EventKind kind) {
  return kind == EventKind::kBackward || kind == EventKind::kForward || kind == EventKind::kStep;
}

}  // namespace

const Object* Event::argument(std::string_view name, int position) const {
  return arguments == nullptr ? nullptr : main_of(arguments->get(name, position));
}

const Guard* rank_guard(const Event& event) {
  return find_guard(event, kRank, 0);
}

const Guard* local_guard(const Event& event) {
  return find_guard(event, kLocal, kRank);
}

const Context* context_of(const Event& event, std::string_view callee) {
  for (const Context* context = event.context; context != nullptr; context = context->outer) {
    if (context->callee == callee) return context;
  }
  return nullptr;
}

bool without_grad(const Event& event) {
  if (context_of(event, "torch.no_grad") || context_of(event, "torch.inference_mode")) return true;
  const Context* set = context_of(event, "torch.set_grad_enabled");
  if (set == nullptr) return false;
  const Object* enabled = set->arguments == nullptr ? nullptr : main_of(set->arguments->get("mode", 0));
  return enabled == nullptr || !enabled->is_true();
}

bool inside_forward(const Event& event) {
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    if (frame->function != nullptr && frame->function->of_class != nullptr && frame->function->of_class->is_module &&
        frame->function->name == "forward")
      return true;
  }
  return false;
}

bool inside(const Event& event, const Loop* loop) {
  for (const Loop* at = event.loop; at != nullptr; at = at->outer) {
    if (at == loop) return true;
  }
  return false;
}

bool under(const Event& event, const Guard* guard) {
  for (const Guard* at = event.guard; at != nullptr; at = at->outer) {
    if (at == guard) return true;
  }
  return false;
}

const Guard* condition_within_loop(const Trace& trace, const Event& event, const Loop& loop) {
  if (event.guard == nullptr || loop.begin >= trace.events.size()) return nullptr;
  return under(trace.events[loop.begin], event.guard) ? nullptr : event.guard;
}

namespace {

// The value that a condition is about, without the `not` in front of it; it holds if the value is true.
std::pair<const Object*, bool> tested(const Guard& guard) {
  const Object* value = guard.value;
  bool holds = guard.positive;
  while (value != nullptr && value->callee == "not" && value->receiver != nullptr) {
    value = value->receiver;
    holds = !holds;
  }
  return {value, holds};
}

using Literal = std::pair<const Object*, bool>;

bool is_compound(const Object* value) {
  return value != nullptr && value->type == Type::kUnion && value->made_by != nullptr &&
         (value->callee == "and" || value->callee == "or");
}

// What holds if the condition does: of `a and not b` that a is true and b is not.
std::vector<Literal> literals(const Guard& guard) {
  constexpr std::size_t kMaxLiterals = 8;
  std::vector<Literal> all = {{guard.value, guard.positive}};
  for (std::size_t i = 0; i < all.size() && all.size() < kMaxLiterals; ++i) {
    auto& [value, holds] = all[i];
    while (value != nullptr && value->callee == "not" && value->receiver != nullptr) {
      value = value->receiver;
      holds = !holds;
    }
    if (!is_compound(value) || value->callee != (holds ? "and" : "or")) continue;
    const Literal whole = all[i];
    for (const Argument& part : whole.first->made_by->list) all.emplace_back(part.value, whole.second);
  }
  return all;
}

// `mode == "ddp"`, `mode is not Mode.DDP`: what is compared with what, and whether the two are then the same.
struct Equality {
  const Object* left = nullptr;
  const Object* right = nullptr;
  bool holds = false;
};

Equality equality(const Literal& literal) {
  const Object* value = literal.first;
  if (value == nullptr || value->type == Type::kUnion || value->made_by == nullptr || value->made_by->list.size() != 2)
    return {};
  const bool same = value->callee == "==" || value->callee == "is";
  if (!same && value->callee != "!=" && value->callee != "is not") return {};
  const Object* left = value->made_by->list[0].value;
  // What another turn changes may be this now and that later, in one run.
  if (left->element || left->has(kStepCount | kLocal)) return {};
  return {left, main_of(value->made_by->list[1].value), literal.second == same};
}

bool is_same_constant(const Object& a, const Object& b) {
  return a.constant && b.constant && a.type == b.type &&
         (a.type == Type::kText ? a.name == b.name : a.number == b.number);
}

// `mode == "ddp"` and `mode != "ddp"`, also in two functions; `mode == "ddp"` and `mode == "shard"`.
bool contradict(const Literal& one, const Literal& other) {
  if (one.first == nullptr || other.first == nullptr) return false;
  if (one.first == other.first) return one.second != other.second;
  const Equality a = equality(one), b = equality(other);
  if (a.left == nullptr || a.left != b.left) return false;
  const bool same =
      a.right == b.right || is_same_constant(*a.right, *b.right) ||
      (a.right->type == Type::kExternal && b.right->type == Type::kExternal && a.right->name == b.right->name);
  if (same) return a.holds != b.holds;
  return a.holds && b.holds && a.right->constant && b.right->constant && a.right->type == b.right->type;
}

bool excludes(const Guard& one, const Guard& other) {
  if (one.partial || other.partial) return false;
  if (one.test == other.test) return one.positive != other.positive;
  if (one.kind == GuardKind::kCase && other.kind == GuardKind::kCase) return one.statement == other.statement;
  if (one.kind != GuardKind::kIf || other.kind != GuardKind::kIf || one.value == nullptr) return false;
  const std::vector<Literal> others = literals(other);
  return std::ranges::any_of(literals(one), [&](const Literal& here) {
    return std::ranges::any_of(others, [&](const Literal& there) { return contradict(here, there); });
  });
}

}  // namespace

bool compatible(const Event& a, const Event& b) {
  if (a.pass != b.pass) return true;
  for (const Guard* one = a.guard; one != nullptr; one = one->outer) {
    for (const Guard* other = b.guard; other != nullptr; other = other->outer) {
      if (excludes(*one, *other)) return false;
    }
  }
  return true;
}

bool ask_the_same(const Event& a, const Event& b) {
  for (const Guard* one = a.guard; one != nullptr; one = one->outer) {
    for (const Guard* other = b.guard; other != nullptr; other = other->outer) {
      const auto [first, first_holds] = tested(*one);
      const auto [second, second_holds] = tested(*other);
      if (first != nullptr && first == second) return true;
      const Equality here = equality({first, first_holds}), there = equality({second, second_holds});
      if (here.left != nullptr && here.left == there.left) return true;
    }
  }
  return false;
}

bool same_turn(const Event& a, const Event& b) {
  for (const Loop* loop = a.loop; loop != nullptr; loop = loop->outer) {
    if ((a.index < loop->second) != (b.index < loop->second) && inside(b, loop)) return false;
  }
  return true;
}

const Loop* training_loop(const Trace& trace, const Event& event) {
  for (const Loop* loop = event.loop; loop != nullptr; loop = loop->outer) {
    for (std::uint32_t i = loop->begin; i < loop->end && i < trace.events.size(); ++i) {
      if (is_training(trace.events[i].kind)) return loop;
    }
  }
  return nullptr;
}

Sharding sharding_of(const Trace& trace, const Object* model) {
  if (model == nullptr) return Sharding::kNone;
  for (const Object* at = main_of(model); at != nullptr; at = main_of(at->wrapped)) {
    if (at->sharding != Sharding::kNone) return at->sharding;
  }
  if (const Object* root = root_of(model); root->sharding != Sharding::kNone) return root->sharding;
  for (const std::uint32_t index : trace.wraps) {
    const Event& event = trace.events[index];
    if (event.is(EventKind::kShard) && same_model(event.subject, model)) return event.result->sharding;
    if (event.is(EventKind::kDdp) && same_model(event.subject, model)) return Sharding::kDdp;
  }
  return Sharding::kNone;
}

bool needs_all_ranks(const Event& event) {
  switch (event.kind) {
    case EventKind::kCollective:
    case EventKind::kNewGroup:
    case EventKind::kMesh:
    case EventKind::kDcpSave:
    case EventKind::kDcpAsyncSave:
    case EventKind::kDcpLoad:
      return true;
    case EventKind::kStateDict:
      return event.callee != ".state_dict" || (event.subject && event.subject->sharding == Sharding::kFsdp1);
    default:
      return false;
  }
}

std::vector<const Object*> classes_asked_for(const Guard* guard, const Object* object) {
  for (; guard != nullptr; guard = guard->outer) {
    const auto [value, holds] = tested(*guard);
    const Object* test = main_of(value);
    if (!holds || test == nullptr || test->callee != "isinstance" || test->made_by == nullptr ||
        test->made_by->list.size() != 2 || main_of(test->made_by->list[0].value) != object)
      continue;
    const Object* asked = main_of(test->made_by->list[1].value);
    if (asked->type != Type::kSequence) return {asked};
    return {asked->items.begin(), asked->items.end()};
  }
  return {};
}

bool is_instance(const Object* model, const Object* of) {
  of = main_of(of);
  if (of->type == Type::kClass) return model->of_class != nullptr && model->of_class == of->of_class;
  return of->type == Type::kExternal && !of->name.empty() && model->callee == of->name;
}

std::vector<std::pair<const SourceFile*, Node>> call_chain(const Event& event) {
  std::vector<std::pair<const SourceFile*, Node>> chain;
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    if (frame->call) chain.emplace_back(frame->call_file, frame->call);
  }
  return chain;
}

}  // namespace fx::knowledge::code
