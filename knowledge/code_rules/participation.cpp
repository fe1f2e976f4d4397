#include "knowledge/code_rules/participation.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge {

using namespace code;

bool is_sharded(const Trace& trace, const Object* model, bool with_ddp) {
  if (model == nullptr) return false;
  const Sharding sharding = sharding_of(trace, model);
  return sharding == Sharding::kFsdp1 || sharding == Sharding::kFsdp2 || sharding == Sharding::kAccelerate ||
         (with_ddp && sharding == Sharding::kDdp);
}

namespace {

// accelerator.unwrap_model(model) where nothing says that FSDP is in use: the replicated module of this rank.
bool is_unwrapped_replica(const Trace& trace, const Object* model) {
  if (model == nullptr || model->callee != ".unwrap_model") return false;
  return std::ranges::none_of(
      trace.events, [](const Event& event) { return event.callee == "accelerate.FullyShardedDataParallelPlugin"; });
}

}  // namespace

namespace {

// Something is called that is or may be a model; a backward of plain operations is nobody else's business.
bool trains_a_model(const Trace& trace) {
  if (!trace.wraps.empty()) return true;
  return std::ranges::any_of(trace.events, [](const Event& event) {
    return event.is(EventKind::kForward) || event.is(EventKind::kPrepare) || event.is(EventKind::kStep) ||
           event.is(EventKind::kForwardMethod) || event.callee == "()";
  });
}

}  // namespace

bool is_joint(const Trace& trace, const Event& event) {
  switch (event.kind) {
    case EventKind::kForwardMethod:  // what it runs inside tells: it may compute nothing
      return false;
    case EventKind::kForward:
    case EventKind::kGenerate:
      return is_sharded(trace, event.subject) && !is_unwrapped_replica(trace, event.subject);
    case EventKind::kClip:
      return event.subject != nullptr && is_sharded(trace, event.subject) &&
             event.callee != "torch.nn.utils.clip_grad_value_";
    case EventKind::kBackward:
      return trains_a_model(trace);
    default:
      return needs_all_ranks(event);
  }
}

bool for_its_own_group(const Event& event) {
  const Object* group = event.argument("group");
  if (group == nullptr) group = event.argument("process_group");
  // A group that only some ranks made is found where they make it.
  return group != nullptr && group->type != Type::kNone;
}

namespace {

// The model is handed to something that shards it only afterwards: here it is whole.
bool is_sharded_later(const Trace& trace, const Event& gather) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    if (event.index < gather.index || event.arguments == nullptr || gather.subject == nullptr) return false;
    const std::string_view name = last_part(event.callee);
    const bool shards = event.is(EventKind::kShard) || contains(name, "shard") || contains(name, "fsdp");
    return shards && !event.arguments->list.empty() && main_of(event.arguments->list.front().value) == gather.subject;
  });
}

}  // namespace

bool gathers_state(const Program& program, const Trace& trace, const Event& event) {
  if (!event.is(EventKind::kStateDict)) return false;
  if (event.callee == ".get_state_dict") return program.calls("accelerate.FullyShardedDataParallelPlugin");
  if (event.callee == ".state_dict")
    return event.subject != nullptr && sharding_of(trace, event.subject) == Sharding::kFsdp1;
  return !is_sharded_later(trace, event);
}

namespace {

constexpr int kDepth = 4;  // of arithmetic and comparisons on a rank

// Names that have such a word and mean something else.
constexpr std::array<std::string_view, 11> kNoRanks = {
    "main_weight", "main_grad", "main_param", "master_weight",      "master_param", "domain",
    "remain",      "maintain",  "num_head",   "num_attention_head", "lm_head"};

// Words by which a condition says that it is about the rank.
bool names_a_rank(std::string_view text) {
  constexpr std::array<std::string_view, 11> kWords = {
      "rank", "main", "master", "leader", "primary", "chief", "zero", "procid", "process_index", "coordinator", "head"};
  const auto said = [&](std::string_view written) {
    return std::ranges::any_of(kWords, [&](std::string_view word) { return contains_ignoring_case(written, word); });
  };
  if (!said(text)) return false;
  std::string rest(text);
  for (const std::string_view other : kNoRanks) rest = replace_all(rest, other, "");
  return rest.size() == text.size() || said(rest);
}

bool is_given_to_some(const Object* value, int depth);

// A rank, or arithmetic and comparisons on one.
bool computes_with_rank(const Object* value, int depth) {
  if (is_given_to_some(value, depth)) return true;
  for (const Object* one : alternatives(value)) {
    if (one->identity != Identity::kNone && one->identity != Identity::kWorldSize) return true;
    if (one->has(kRank) && (names_a_rank(one->callee) || names_a_rank(one->name))) return true;
    const bool operation = one->type == Type::kBool || one->type == Type::kNumber || one->callee.size() <= 3;
    if (depth == 0 || !operation) continue;
    if (one->receiver != nullptr && computes_with_rank(one->receiver, depth - 1)) return true;
    if (one->made_by == nullptr) continue;
    for (const Argument& operand : one->made_by->list) {
      if (computes_with_rank(operand.value, depth - 1)) return true;
    }
  }
  return false;
}

// `rank is None`: whether one was given does not depend on which.
bool asks_for_presence(const Object& value) {
  return (value.callee == "is" || value.callee == "is not") && value.made_by != nullptr &&
         value.made_by->list.size() == 2 && main_of(value.made_by->list[1].value)->type == Type::kNone;
}

bool asks_for_the_rank(const Object* value, std::string_view written, int depth) {
  if (value == nullptr || depth == 0) return names_a_rank(written);
  if (value->callee == "not" && value->receiver != nullptr)
    return asks_for_the_rank(value->receiver, written, depth - 1);
  const bool compound =
      value->type == Type::kUnion && value->made_by != nullptr && (value->callee == "and" || value->callee == "or");
  if (compound)
    return std::ranges::any_of(value->made_by->list, [&](const Argument& part) {
      return part.value->has(kRank) && asks_for_the_rank(part.value, part.node.text(), depth - 1);
    });
  if (asks_for_presence(*value)) return is_given_to_some(value->made_by->list[0].value, depth);
  return names_a_rank(written) || computes_with_rank(value, depth);
}

bool asks_for_the_rank(const Guard& guard, int depth) {
  return (guard.taints & kRank) != 0 && asks_for_the_rank(guard.value, guard.test.text(), depth);
}

// writer = SummaryWriter() if rank == 0 else None: whether it is there tells the rank.
bool is_given_to_some(const Object* value, int depth) {
  if (value == nullptr || value->type != Type::kUnion || depth == 0 || !value->has(kRank) || value->has(kReduced))
    return false;
  const auto is_none = [](const Object* item) { return item->type == Type::kNone; };
  if (std::ranges::none_of(value->items, is_none)) return false;
  return std::ranges::any_of(value->items, [&](const Object* item) {
    if (is_none(item) || item->constant) return false;
    for (const Guard* at = item->guard; at != nullptr; at = at->outer) {
      if (!at->implied && asks_for_the_rank(*at, depth - 1)) return true;
    }
    return false;
  });
}

// True: for the main rank only. False: for the others. Unclear conditions have no side.
std::optional<bool> side_of(std::string_view written, bool side) {
  for (std::size_t cut = written.find(" and "); cut != std::string_view::npos; cut = written.find(" and ")) {
    const std::string_view first = written.substr(0, cut);  // dist.is_initialized() and not is_rank0()
    written = names_a_rank(first) ? first : written.substr(cut + 5);
  }
  std::string text = replace_all(std::string(written), " ", "");
  while (text.starts_with("not") && !text.starts_with("notin")) {
    text = text.substr(3);
    side = !side;
  }
  for (const std::string_view others : {"!=0", ">0", "notin[-1,0]", "notin(-1,0)", ">=1"}) {
    if (contains(text, others)) return !side;
  }
  if (contains(text, "==0") || contains(text, "in[-1,0]") || contains(text, "in(-1,0)") || contains(text, "<1"))
    return side;
  const bool plain = text.find_first_of("=<>") == std::string::npos;
  return plain && names_a_rank(text) ? std::optional(side) : std::nullopt;
}

// As the condition is written, or else as what it names was.
std::optional<bool> main_side(const Guard& guard) {
  if (const auto side = side_of(guard.test.text(), guard.positive)) return side;
  const Object* value = main_of(guard.value);
  return value == nullptr || !value->node ? std::nullopt : side_of(value->node.text(), guard.positive);
}

// "if not main: barrier()" before and "if main: barrier()" after: every rank comes once.
bool takes_turns(const Event& other, const Guard& guard) {
  const auto side = main_side(guard);
  if (!side) return false;
  for (const Guard* at = other.guard; at != nullptr; at = at->outer) {
    if (at->statement == guard.statement || !is_rank_test(*at)) continue;
    const auto other_side = main_side(*at);
    if (other_side && *other_side != *side) return true;
  }
  return false;
}

bool in_opposite_branch(const Event& event, const Guard& guard) {
  for (const Guard* at = event.guard; at != nullptr; at = at->outer) {
    if (at->test == guard.test && at->positive != guard.positive) return true;
  }
  return false;
}

// The other branch hands a generator or a function that makes the same call to somebody who runs it.
bool handed_on(const Event& other, const Event& event, const Guard& guard) {
  if (other.arguments == nullptr || !in_opposite_branch(other, guard)) return false;
  return std::ranges::any_of(other.arguments->list, [&](const Argument& argument) {
    const Object* value = main_of(argument.value);
    if (value->function == nullptr || (value->type != Type::kGenerator && value->type != Type::kFunction)) return false;
    for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
      if (frame->function == value->function) return true;
    }
    return contains(value->function->node.text(), last_part(event.callee));
  });
}

// A function of the files answers one thing on some ranks, another on the others: `if rank != 0: return False`.
bool answers_by_rank(const Guard& guard) {
  const Object* value = guard.value;
  if (value == nullptr || value->type != Type::kUnion || value->has(kReduced) || value->receiver != nullptr)
    return false;
  const bool plain = std::ranges::all_of(
      value->items, [](const Object* item) { return item->type == Type::kBool || item->type == Type::kNone; });
  if (!plain) return false;
  for (const Object* item : value->items) {
    for (const Guard* at = item->guard; at != nullptr && at != guard.outer; at = at->outer) {
      if (item->constant && !at->implied && asks_for_the_rank(*at, kDepth)) return true;
    }
  }
  return false;
}

// `main or fsdp`, `not main and not fsdp`: where the model is sharded, every rank gets the same answer.
bool asks_for_sharding_too(const Object* value, bool holds, int depth) {
  if (value == nullptr || depth == 0) return false;
  if (value->callee == "not" && value->receiver != nullptr)
    return asks_for_sharding_too(value->receiver, !holds, depth - 1);
  if (value->type != Type::kUnion || value->made_by == nullptr || value->callee != (holds ? "or" : "and")) return false;
  return std::ranges::any_of(value->made_by->list, [&](const Argument& part) {
    const bool says = std::ranges::any_of(std::array<std::string_view, 3>{"fsdp", "shard", "all_ranks"},
                                          [&](auto word) { return contains_ignoring_case(part.node.text(), word); });
    return (says && !part.value->has(kRank)) || asks_for_sharding_too(part.value, holds, depth - 1);
  });
}

}  // namespace

bool spares_sharded_runs(const Guard& guard) {
  return (guard.taints & kRank) != 0 && asks_for_sharding_too(guard.value, !guard.positive, kDepth);
}

bool is_rank_test(const Guard& guard) {
  if ((guard.taints & kRank) != 0 && asks_for_sharding_too(guard.value, guard.positive, kDepth)) return false;
  return asks_for_the_rank(guard, kDepth) || ((guard.taints & kRank) != 0 && answers_by_rank(guard));
}

const Guard* rank_condition(const Event& event, bool with_implied) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if ((with_implied || !guard->implied) && is_rank_test(*guard)) return guard;
  }
  return nullptr;
}

namespace {

bool speaks_of_a_rank(std::string_view text) {
  static constexpr std::array<std::string_view, 11> kWords = {"main",        "master",      "rank",        "primary",
                                                              "chief",       "leader",      "writer",      "zero",
                                                              "coordinator", "should_save", "should_write"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return contains_ignoring_case(text, word); });
}

// write = team.rank == 0 if sharded else True
bool was_made_of_a_rank(const Object* value) {
  return std::ranges::any_of(alternatives(value), [](const Object* one) {
    const bool plain = one->node.is("comparison_operator") || one->node.is("attribute") ||
                       one->node.is("not_operator") || one->node.is("boolean_operator");
    return plain && speaks_of_a_rank(one->node.text());
  });
}

}  // namespace

bool may_be_for_one_rank(const Event& event) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if ((guard->taints & kRank) != 0 || speaks_of_a_rank(guard->test.text()) || was_made_of_a_rank(guard->value))
      return true;
  }
  return false;
}

bool other_branch_matches(const Trace& trace, const Event& event, const Guard& guard) {
  return std::ranges::any_of(trace.events, [&](const Event& other) {
    if (handed_on(other, event, guard)) return true;
    if (other.pass != event.pass || other.kind != event.kind || last_part(other.callee) != last_part(event.callee))
      return false;
    return in_opposite_branch(other, guard) || takes_turns(other, guard);
  });
}

bool within(Node inner, Node outer) {
  return inner && outer && inner.begin() >= outer.begin() && inner.end() <= outer.end();
}

bool reached_from(const Event& event, const SourceFile* file, Node node) {
  if (event.file == file && within(event.node, node)) return true;
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    if (frame->call_file == file && within(frame->call, node)) return true;
  }
  return false;
}

namespace {

// fn(...) where fn is a parameter of a function around: the call of a decorator's wrapper, which every function shares.
bool calls_a_parameter(Node call) {
  const Node name = call.child("function");
  if (!name.is("identifier")) return false;
  for (Node at = call.parent(); at; at = at.parent()) {
    for (const Node parameter :
         at.is("function_definition") ? at.child("parameters").children() : std::vector<Node>{}) {
      if (parameter.text() == name.text()) return true;
    }
  }
  return false;
}

}  // namespace

std::pair<const SourceFile*, Node> below(const Event& event, const Guard& guard) {
  if (event.file == guard.file && within(event.node, guard.statement)) return {event.file, event.node};
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    if (frame->call_file != guard.file || !within(frame->call, guard.statement)) continue;
    if (calls_a_parameter(frame->call)) return {event.file, event.node};
    return {frame->call_file, frame->call};
  }
  return {event.file, event.node};
}

}  // namespace fx::knowledge
