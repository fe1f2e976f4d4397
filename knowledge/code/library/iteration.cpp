// What makes, changes and consumes iterations: how often a loop turns, and over what.
#include <algorithm>
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"
#include "knowledge/code/shares.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

constexpr Taints kOfLength = kUneven | kRank | kLocal;

Object* range(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  value->taints = static_cast<Taints>(taints_of(call.given) & kOfLength);
  // range(rank, rows, world), range(rank * each, (rank + 1) * each)
  const std::size_t bounds = call.given.list.size();
  const bool own = bounds > 1 && bounds < 4 && call.argument(0)->has(kRank);
  const bool equal = own && (bounds == 2 ? cuts_equal_shares(call.argument(0), call.argument(1))
                                         : is_cut_to_the_world(call.argument(1)));
  if (own) value->taints |= static_cast<Taints>(equal ? kLocal : kUneven | kLocal);
  return note(run, call, EventKind::kCall, call.first, value);
}

// The length of a batch is this rank's own; that of a loader is what its sampler makes it.
Object* length(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  const Object* first = call.first;
  if (first == nullptr) return note(run, call, EventKind::kCall, first, value);
  const Object* at = first;
  for (int i = 0; i < 6 && at != nullptr && !at->element; ++i) at = at->parent != nullptr ? at->parent : at->receiver;
  const Object* made = first->callee == "[]" && first->receiver != nullptr ? first->receiver : first;
  const bool picked = made->callee.starts_with("torch.") || made->callee == ".nonzero" || made->callee == ".unique";
  const bool of_data = picked || (at != nullptr && at->element);
  value->taints = static_cast<Taints>(call.argument(0)->taints & (kUneven | kRank | kReduced | (of_data ? kLocal : 0)));
  return note(run, call, EventKind::kCall, first, value);
}

// Rows of one item of each; not to be unrolled.
Object* rows(Interpreter& run, const Call& call, const Known& known) {
  const bool counted = call.name == "enumerate";
  Object* value = value_of(run, call, known);
  if (counted) {
    Object* index = run.unknown(call.node);
    index->callee = "range";
    value->items.push_back(index);
  }
  bool some_endless = false, all_endless = true;
  for (const Argument& argument : call.given.list) {
    if (counted && argument.value != call.argument(0)) continue;
    value->items.push_back(argument.value);
    value->taints |= static_cast<Taints>(argument.value->taints & kOfLength);
    some_endless |= argument.value->has(kEndless);
    all_endless &= argument.value->has(kEndless);
  }
  if (some_endless && all_endless) value->taints |= kEndless;
  value->element = true;
  return note(run, call, EventKind::kCall, call.first, value);
}

Object* copy_of(Interpreter& run, const Object* object, Node node) {
  Object* value = run.make(object->type, node);
  *value = *object;
  value->node = node;
  return value;
}

Object* reversed(Interpreter& run, const Call& call, const Known&) {
  const Object* first = call.first;
  if (first == nullptr) return nullptr;
  Object* value = copy_of(run, first, call.node);
  value->reversed = !first->reversed;
  value->members.clear();
  std::ranges::reverse(value->items);
  if (value->callee.empty()) value->callee = call.name;
  if (value->made_by == nullptr) value->made_by = &call.given;
  return note(run, call, EventKind::kCall, first, value);
}

// The same things, perhaps in another order or with a progress bar.
Object* same(Interpreter& run, const Call& call, const Known&) {
  Object* whole = call.argument(0);
  note(run, call, EventKind::kCall, call.first, whole);
  return whole != nullptr ? whole : run.make(Type::kSequence, call.node);
}

// A list of what an iteration gives: a generator runs here and now.
Object* listed(Interpreter& run, const Call& call, const Known& known) {
  Object* whole = run.consume(call.argument(0), call.node);
  if (whole == call.argument(0)) return same(run, call, known);
  return note(run, call, EventKind::kCall, whole, whole);
}

Object* filtered(Interpreter& run, const Call& call, const Known&) {
  if (call.given.list.size() < 2) return nullptr;
  return note(run, call, EventKind::kCall, call.first, call.argument(1));
}

Object* mapped(Interpreter& run, const Call& call, const Known& known) {
  Object* from = call.argument(1);
  if (from == nullptr) return nullptr;
  Object* value = value_of(run, call, known);
  Arguments& one = run.arguments_of();
  one.list.push_back({"", run.element_of(from, call.node), call.node});
  value->items.push_back(run.call_object(call.argument(0), one, call.node));
  value->element = true;
  value->taints = from->taints;
  return note(run, call, EventKind::kCall, call.first, value);
}

// functools.reduce(step, items, start): each step gets what the one before gave. Short lists are followed item by item.
Object* folded(Interpreter& run, const Call& call, const Known&) {
  constexpr std::size_t kMaxSteps = 8;
  Object* from = call.argument(1);
  if (from == nullptr) return nullptr;
  note(run, call, EventKind::kCall, call.first, nullptr);
  const Object* list = main_of(from);
  std::vector<Object*> items;
  if (list->type == Type::kSequence && !list->element && list->items.size() <= kMaxSteps)
    items.assign(list->items.begin(), list->items.end());
  if (items.empty()) items = {run.element_of(from, call.node)};
  Object* value = call.argument(2) != nullptr ? call.argument(2) : items.front();
  for (std::size_t i = call.argument(2) != nullptr ? 0 : 1; i < items.size(); ++i) {
    Arguments& given = run.arguments_of();
    given.list = {{"", value, call.node}, {"", items[i], call.node}};
    value = run.call_object(call.argument(0), given, call.node);
  }
  return value;
}

Object* next_of_generator(Interpreter& run, const Call& call, Object* generator) {
  Object* got = nullptr;
  Loop loop;
  loop.node = call.node;
  run.iterate_generator(loop, generator, [&](Object* item) {
    got = item;
    return Flow::kNormal;
  });
  if (got == nullptr) got = run.unknown(call.node);
  if (generator->has(kLocal | kRank)) got = run.join(got, nullptr, kLocal);
  generator->members.emplace_back("*", got);
  return got;
}

Object* next(Interpreter& run, const Call& call, const Known&) {
  Object* first = call.first;
  if (first == nullptr) return nullptr;
  if (first->type == Type::kGenerator) {
    if (Object* held = first->member("*")) return held;
  }
  Object* value = first->type == Type::kGenerator ? next_of_generator(run, call, first)
                                                  : run.element_of(call.argument(0), call.node);
  if (value->callee.empty()) value->callee = call.name;
  if (value->made_by == nullptr) value->made_by = &call.given;
  return note(run, call, EventKind::kCall, first, value);
}

// The first so many.
Object* cut(Interpreter& run, const Call& call, const Known&) {
  const Object* first = call.first;
  if (first == nullptr) return nullptr;
  Object* value = copy_of(run, first, call.node);
  if (first->has(kEndless)) value->taints = static_cast<Taints>(value->taints & ~(kUneven | kEndless));
  return note(run, call, EventKind::kCall, first, value);
}

Object* cycle(Interpreter& run, const Call& call, const Known&) {
  const Object* first = call.first;
  if (first == nullptr) return nullptr;
  Object* value = copy_of(run, first, call.node);
  value->taints = static_cast<Taints>((value->taints & ~kUneven) | kEndless);
  value->element = true;
  return note(run, call, EventKind::kCall, first, value);
}

// One after the other. Of lists that are known and of lists of modules the items are known.
Object* chain(Interpreter& run, const Call& call, const Known& known) {
  Object* value = value_of(run, call, known);
  value->taints = taints_of(call.given);
  const bool seen = std::ranges::all_of(call.given.list, [](const Argument& argument) {
    const Object* part = main_of(argument.value);
    return argument.name.empty() && (part->type == Type::kModel || (part->type == Type::kSequence && !part->element));
  });
  if (seen && call.name == "itertools.chain") {
    value->type = Type::kSequence;
    for (const Argument& argument : call.given.list) {
      const Object* part = main_of(argument.value);
      if (part->type == Type::kModel)
        value->items.push_back(run.element_of(argument.value, call.node));
      else
        value->items.insert(value->items.end(), part->items.begin(), part->items.end());
    }
  }
  return note(run, call, EventKind::kCall, call.first, value);
}

constexpr std::array kFunctions = {
    Known{"range", range},
    Known{"len", length, EventKind::kCall, Type::kNumber},
    Known{"enumerate", rows, EventKind::kCall, Type::kSequence},
    Known{"zip", rows, EventKind::kCall, Type::kSequence},
    Known{"reversed", reversed},
    Known{"list", listed},
    Known{"tuple", listed},
    Known{"iter", same},
    Known{"sorted", listed},
    Known{"set", listed},
    Known{"frozenset", listed},
    Known{"collections.deque", listed},
    Known{"copy.copy", same},
    Known{"tqdm.tqdm", same},
    Known{"tqdm.auto.tqdm", same},
    Known{"tqdm.std.tqdm", same},
    Known{"tqdm.notebook.tqdm", same},
    Known{"tqdm.asyncio.tqdm", same},
    Known{"filter", filtered},
    Known{"map", mapped, EventKind::kCall, Type::kSequence},
    Known{"functools.reduce", folded},
    Known{"next", next},
    Known{"itertools.islice", cut},
    Known{"itertools.cycle", cycle},
    Known{"itertools.count", about_first, EventKind::kCall, Type::kUnknown, kEndless},
    Known{"itertools.repeat", about_first, EventKind::kCall, Type::kUnknown, kEndless},
    Known{"itertools.chain", chain},
    Known{"itertools.chain.from_iterable", chain},
};

}  // namespace

std::span<const Known> iteration_functions() {
  return kFunctions;
}

}  // namespace fx::knowledge::code
