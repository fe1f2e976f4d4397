// What an execution of the files does, in execution order: events with the conditions, loops and contexts around them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "knowledge/code/event_kind.h"
#include "knowledge/code/object.h"

namespace fx::knowledge::code {

enum class GuardKind : std::uint8_t { kIf, kWhile, kExcept, kCase };

// A condition in force. Also for the rest of a block after `if x: return`: then positive is false.
struct Guard {
  const Guard* outer = nullptr;
  GuardKind kind = GuardKind::kIf;
  Node test;  // the condition, the except clause or the case
  Node statement;
  const SourceFile* file = nullptr;
  bool positive = true;
  bool implied = false;  // holds because the other branch left this block by a jump
  bool partial = false;  // implied on one path to here: `if many: if rank != 0: return`
  Taints taints = 0;
  const Object* value = nullptr;  // of the condition
};

struct Loop {
  const Loop* outer = nullptr;
  Node node;  // for, while or comprehension
  const SourceFile* file = nullptr;
  const Object* iterable = nullptr;  // nullptr: while
  Taints taints = 0;                 // of what decides the number of turns
  std::uint32_t begin = 0, end = 0;  // events [begin, end) of the trace, both passes
  std::uint32_t second = 0;          // where the second pass begins; end if there is none
};

// A `with`, or a decorator that works like one.
struct Context {
  const Context* outer = nullptr;
  std::string_view callee;  // "torch.no_grad", ".no_sync"
  const Object* receiver = nullptr;
  const Arguments* arguments = nullptr;
  Node node;
  const SourceFile* file = nullptr;
};

struct Frame {
  const Frame* caller = nullptr;
  const Function* function = nullptr;  // nullptr: module level
  Node call;                           // in the caller
  const SourceFile* call_file = nullptr;
  const Object* self = nullptr;
  int depth = 0;
};

struct Event {
  EventKind kind = EventKind::kCall;
  int pass = 1;                      // 2: in the second turn of some loop
  std::uint32_t index = 0;           // in its trace
  std::uint32_t skip_end = 0;        // kJump: the events (index, skip_end) are what a rank that jumps does not do
  std::string_view callee;           // "torch.save"; ".item" for a method of an object that no table knows
  const Object* receiver = nullptr;  // of a method
  const Object* subject = nullptr;   // the model, optimizer, scaler ... it is about; unions resolved
  Object* result = nullptr;
  const Arguments* arguments = nullptr;
  Node node;
  const SourceFile* file = nullptr;
  const Guard* guard = nullptr;
  const Loop* loop = nullptr;
  const Context* context = nullptr;
  const Frame* frame = nullptr;

  int line() const { return node.line(); }
  const Object* argument(std::string_view name, int position = -1) const;
  bool is(EventKind some) const { return kind == some; }
};

struct Trace {
  std::vector<Event> events;
  // From a `__main__` guard, a training call at module level, or a spawned function; else a function nobody calls.
  bool from_entry = false;
  // Of the trace that is done.
  std::vector<std::uint32_t> wraps;  // indices of the kShard and kDdp events
  bool has(EventKind some) const { return (kinds >> static_cast<unsigned>(some) & 1) != 0; }  // an event of this kind
  std::uint64_t kinds = 0;                                                                    // a bit a kind
  bool complete = true;                                                                       // false: a bound was met
};

// Questions about one event.
const Guard* rank_guard(const Event& event);   // the innermost condition that depends on the rank
const Guard* local_guard(const Event& event);  // ... on data of this rank only (and not on a rank)
const Context* context_of(const Event& event, std::string_view callee);  // "torch.no_grad", ".no_sync"
bool without_grad(const Event& event);    // no_grad, inference_mode, set_grad_enabled(False)
bool inside_forward(const Event& event);  // reached through a module's own forward
bool inside(const Event& event, const Loop* loop);
bool under(const Event& event, const Guard* guard);
// The innermost condition in force for the event and not for its loop as a whole: what decides in which turns it
// happens, also in a function that the turn calls. nullptr: in every turn.
const Guard* condition_within_loop(const Trace& trace, const Event& event, const Loop& loop);
// Both can happen in one execution: no condition holds for one and fails for the other.
bool compatible(const Event& a, const Event& b);
// Conditions of the two are about one value: whether they go together is then known.
bool ask_the_same(const Event& a, const Event& b);
// Both in one turn of every loop they share.
bool same_turn(const Event& a, const Event& b);
// A collective, barrier, sharded forward or backward, gather of state, clip of a sharded model: all ranks must take
// part.
bool needs_all_ranks(const Event& event);
// The innermost loop that runs forward or backward steps and holds the event; nullptr: none.
const Loop* training_loop(const Trace& trace, const Event& event);
// How the model is (or will be) sharded: by itself, its wrapper, its parts or its root.
Sharding sharding_of(const Trace& trace, const Object* model);
// What `isinstance(object, ...)` among the conditions names: classes of the files or external ones. Empty: no such
// test.
std::vector<const Object*> classes_asked_for(const Guard* guard, const Object* object);
bool is_instance(const Object* model, const Object* of);  // built from exactly this class
// The chain of call sites that led here, innermost first: (file, call).
std::vector<std::pair<const SourceFile*, Node>> call_chain(const Event& event);

}  // namespace fx::knowledge::code
