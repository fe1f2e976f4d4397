#include <algorithm>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/keep.h"

namespace fx::knowledge::code {
namespace {

// zip(range(steps), rows): as many turns as steps.
bool is_counted(const Object* iterable) {
  return iterable != nullptr && iterable->callee == "zip" &&
         std::ranges::any_of(iterable->items, [](const Object* item) {
           return main_of(item)->callee == "range" && !item->has(kUneven);
         });
}

// The items if all of them are known: of a short list, or enumerate() over one. Empty: what a turn gets stands for all.
std::vector<Object*> one_by_one(Interpreter& run, Object* iterable, const Loop& loop) {
  constexpr std::size_t kMaxTurns = 8;
  const auto known = [&](const Object* list) {
    return list->type == Type::kSequence && !list->element && !list->items.empty() && list->items.size() <= kMaxTurns;
  };
  if (iterable == nullptr || (loop.taints & (kUneven | kEndless)) != 0) return {};
  if (known(iterable)) return {iterable->items.begin(), iterable->items.end()};
  if (iterable->callee != "enumerate" || iterable->items.size() != 2) return {};
  const Object* list = main_of(iterable->items[1]);
  if (list->callee == "enumerate" || list->callee == "zip" || !known(list)) return {};
  std::vector<Object*> rows;
  for (Object* item : list->items) {
    rows.push_back(run.make(Type::kSequence, loop.node));
    rows.back()->items = {run.element_of(iterable->items[0], loop.node), item};
  }
  return rows;
}

}  // namespace

Flow Interpreter::run_loop(Node node, Object* iterable, Taints taints, const std::function<Flow(Object*)>& turn) {
  Loop& loop = program_.loops_.emplace_back();
  loop.outer = loop_;
  loop.node = node;
  loop.file = file_;
  loop.iterable = main_of(iterable);
  loop.taints = taints;
  if (iterable != nullptr) loop.taints |= iterable->taints;
  loop.begin = static_cast<std::uint32_t>(trace_->events.size());
  const Keep keep_loop(loop_);
  const Keep keep_guard(guard_);
  const Fresh breaks(loop_breaks_);
  Changes changes(*scope_);
  loop_ = &loop;
  emit(EventKind::kLoop, node.kind(), node, nullptr, main_of(iterable), nullptr, nullptr);
  const Flow flow = run_turns(loop, main_of(iterable), turn);
  loop.end = static_cast<std::uint32_t>(trace_->events.size());
  if (loop.second == 0) loop.second = loop.end;
  land(loop_breaks_);
  // The body may run no time at all.
  if (!loop.node.is("while_statement") || (loop.taints & kEndless) == 0) {
    for (const Changes::Change& change : changes.all()) {
      if (change.before != nullptr && change.now != change.before)
        scope_->set(change.name, join(change.now, change.before, 0));
    }
  }
  return flow == Flow::kReturn || flow == Flow::kRaise ? ((loop.taints & kEndless) != 0 ? flow : Flow::kNormal)
                                                       : Flow::kNormal;
}

Flow Interpreter::run_turns(Loop& loop, Object* iterable, const std::function<Flow(Object*)>& turn) {
  const Guard* const outer_guard = guard_;
  const auto one_turn = [&](Object* item) {
    const Fresh continues(turn_continues_);
    guard_ = outer_guard;
    const Flow flow = turn(item);
    land(turn_continues_);
    return flow;
  };
  if (const std::vector<Object*> items = one_by_one(*this, iterable, loop); !items.empty()) {
    Flow flow = Flow::kNormal;
    for (Object* item : items) flow = one_turn(item);
    return items.size() == 1 ? flow : Flow::kNormal;
  }
  // What a generator yields, also inside enumerate() and zip().
  const bool tuple = iterable != nullptr && (iterable->callee == "enumerate" || iterable->callee == "zip");
  std::size_t place = 0;
  Object* generator = tuple ? nullptr : generator_of(iterable, loop.node);
  for (std::size_t i = 0; tuple && i < iterable->items.size() && generator == nullptr; ++i) {
    generator = generator_of(main_of(iterable->items[i]), loop.node);
    place = i;
  }
  const auto all_turns = [&] {
    if (generator != nullptr && tuple) {
      return iterate_generator(loop, generator, [&](Object* item) {
        Object* row = make(Type::kSequence, loop.node);
        for (std::size_t i = 0; i < iterable->items.size(); ++i)
          row->items.push_back(i == place ? item : element_of(iterable->items[i], loop.node));
        return one_turn(row);
      });
    }
    if (generator != nullptr) return iterate_generator(loop, generator, one_turn);
    return one_turn(iterable == nullptr ? nullptr : element_of(iterable, loop.node));
  };
  const bool counted = is_counted(iterable) && (loop.taints & kUneven) == 0;
  Flow flow = all_turns();
  if (pass_ == 1 && flow != Flow::kBreak && !spent()) {
    loop.second = static_cast<std::uint32_t>(trace_->events.size());
    const Keep keep(pass_);
    pass_ = 2;
    const Flow again = all_turns();
    if (flow == Flow::kNormal) flow = again;
  }
  if (counted) loop.taints &= static_cast<Taints>(~kUneven);
  return flow;
}

// A generator itself, or what iterating an object of the files' classes (or a loader of one) calls; nullptr: nothing
// known.
Object* Interpreter::generator_of(Object* iterable, Node node) {
  if (iterable == nullptr || iterable->type == Type::kGenerator) return iterable;
  const Object* source = iterable->type == Type::kLoader && iterable->made_by != nullptr
                             ? main_of(iterable->made_by->get("dataset", 0))
                             : iterable;
  if (source == nullptr || source->of_class == nullptr ||
      (source->type != Type::kDataset && source->type != Type::kInstance))
    return nullptr;
  const Function* function = source->of_class->method("__iter__");
  if (function == nullptr || !function->is_generator) return nullptr;
  Object* generator = make(Type::kGenerator, node);
  generator->function = function;
  generator->receiver = const_cast<Object*>(source);
  generator->scope = modules_[function->file];
  generator->callee = function->name;
  generator->taints = kLocal;
  return generator;
}

Flow Interpreter::iterate_generator(Loop& loop, Object* generator, const std::function<Flow(Object*)>& turn) {
  Flow flow = Flow::kNormal;
  Scope* const user_scope = scope_;
  const SourceFile* const user_file = file_;
  const Frame* const user_frame = frame_;
  bool endless = false, uneven = false, seen = false;
  std::function<void(Object*)> at_yield = [&](Object* item) {
    for (const Loop* at = loop_; at != nullptr && at != &loop; at = at->outer) {
      endless |= (at->taints & kEndless) != 0;
      uneven |= (at->taints & kUneven) != 0;
    }
    // `if i % world == rank: yield`
    const Node body = generator->function->node;
    const bool picks = generator->receiver == nullptr || generator->receiver->type != Type::kDataset;
    for (const Guard* at = guard_; picks && at != nullptr; at = at->outer)
      uneven |= (at->taints & kRank) != 0 && at->file == generator->function->file &&
                at->statement.begin() >= body.begin() && at->statement.end() <= body.end();
    seen = true;
    if (generator->has(kLocal)) item = join(item, nullptr, kLocal);
    const Keep keep_scope(scope_);
    const Keep keep_file(file_);
    const Keep keep_frame(frame_);
    const Keep keep_guard(guard_);
    scope_ = user_scope;
    file_ = user_file;
    frame_ = user_frame;
    flow = turn(item);
  };
  yields_.emplace_back(generator->function, &at_yield);
  Arguments& given = arguments_of();
  if (generator->made_by != nullptr) given.list = generator->made_by->list;
  run_body(*generator->function, generator->receiver, generator->scope, given, loop.node);
  yields_.pop_back();
  if (!seen) flow = turn(unknown(loop.node, generator->taints));
  if (endless) loop.taints |= kEndless;
  if (uneven && !endless) loop.taints |= kUneven;
  return flow;
}

Object* Interpreter::consume(Object* iterable, Node node) {
  constexpr std::size_t kMaxItems = 16;
  Object* from = main_of(iterable);
  if (from == nullptr || (from->type != Type::kGenerator && from->type != Type::kInstance)) return iterable;
  Object* generator = generator_of(from, node);
  if (generator == nullptr) return iterable;
  Object* all = make(Type::kSequence, node);
  all->callee = "list";
  all->receiver = generator;
  all->made_by = &arguments_of({{"", iterable, node}});
  Loop loop;
  loop.node = node;
  iterate_generator(loop, generator, [&](Object* item) {
    if (all->items.size() < kMaxItems && std::ranges::find(all->items, item) == all->items.end())
      all->items.push_back(item);
    all->taints |= item->taints;
    return Flow::kNormal;
  });
  all->taints |= static_cast<Taints>((loop.taints & (kUneven | kEndless)) | (generator->taints & (kRank | kLocal)));
  all->element = true;
  return all;
}

}  // namespace fx::knowledge::code
