#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

// A flag or a count that the code makes for the occasion: no weight.
bool is_fresh_tensor(const Object* value) {
  value = main_of(value);
  if (value == nullptr || !value->callee.starts_with("torch.")) return false;
  const std::string_view maker = last_part(value->callee);
  return maker == "zeros" || maker == "ones" || maker == "tensor" || maker == "full";
}

bool broadcasts_weights(const Event& event) {
  if (event.is(EventKind::kCollective) && is_fresh_tensor(event.argument("tensor", 0))) return false;
  if (event.is(EventKind::kCollective))
    return contains(last_part(event.callee), "broadcast") || contains(last_part(event.callee), "scatter");
  if (event.is(EventKind::kLoadState)) {
    if (ends_with_part(event.callee, "set_optimizer_state_dict")) return false;
    const Object* options = event.argument("options");
    const Object* from_first = options == nullptr || options->made_by == nullptr
                                   ? nullptr
                                   : main_of(options->made_by->get("broadcast_from_rank0"));
    return from_first != nullptr && !from_first->is_false();
  }
  return event.is(EventKind::kCall) && contains_ignoring_case(event.callee, "broadcast");
}

bool broadcast_after(const Trace& trace, std::uint32_t from) {
  return std::any_of(trace.events.begin() + from, trace.events.end(), broadcasts_weights);
}

const Guard* made_under_rank(const Object* model) {
  for (const Guard* guard = model->guard; guard != nullptr; guard = guard->outer) {
    if ((guard->taints & kRank) != 0) return guard;
  }
  return nullptr;
}

// Some alternatives hold real weights made under a condition on the rank, others do not.
const Guard* loaded_by_some(const Object* given) {
  const Guard* some = nullptr;
  bool others = false;
  for (const Object* one : alternatives(given)) {
    // A class that was not sent, beside one that is a model.
    const bool built = one->type == Type::kUnknown && is_class_like(one->callee);
    if (one->type != Type::kModel && !built) continue;
    const Guard* guard = made_under_rank(one);
    if (guard != nullptr && is_pretrained(one)) some = guard;
    others |= !is_pretrained(one);
  }
  return others ? some : nullptr;
}

// model, criterion = build(args)
bool is_built_beside_others(const Object& model) {
  const Object* made = model.callee == "[]" ? main_of(model.receiver) : nullptr;
  if (made == nullptr || made->callee.empty() || made->callee[0] == '.' || made->made_by == nullptr) return false;
  const std::string_view name = last_part(made->callee);
  return name.starts_with("build") || name.starts_with("create") || name.starts_with("make");
}

bool random_init(const Object* model) {
  const Object* core = core_of(model);
  if (core != nullptr && core->type == Type::kModel && core->created >= 0 && is_built_beside_others(*core)) return true;
  return core != nullptr && core->type == Type::kModel && core->created >= 0 && core->parent == nullptr &&
         !is_pretrained(core) && !core->callee.empty() && core->callee[0] != '.' && core->callee != "copy.deepcopy";
}

bool is_torch_seed(const Event& event) {
  return event.is(EventKind::kSeed) && event.pass == 1;
}

// The outermost call on the way to the seeding that already carries the rank.
std::pair<const SourceFile*, Node> where_the_rank_enters(const Trace& trace, const Event& seed) {
  std::pair<const SourceFile*, Node> at = {seed.file, seed.node};
  for (const Frame* frame = seed.frame; frame != nullptr && frame->call; frame = frame->caller) {
    const bool carries = std::ranges::any_of(trace.events, [&](const Event& enter) {
      return enter.is(EventKind::kEnter) && enter.node == frame->call &&
             std::ranges::any_of(enter.arguments->list, [](const Argument& argument) {
               return argument.value->has(kRank) && argument.value->identity == Identity::kNone;
             });
    });
    if (!carries) break;
    at = {frame->call_file, frame->call};
  }
  return at;
}

bool any_load(const Trace& trace, const Object* model) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    return event.is(EventKind::kDcpLoad) || (event.is(EventKind::kLoadState) && same_model(event.subject, model));
  });
}

bool comes_from_a_file(const Object& state) {
  return state.callee == "torch.load" || ends_with_part(state.callee, "load_file");
}

// A state that rank 0 read and the others made up, put into a sharded model as it is.
const Guard* read_by_some(const Trace& trace, const Event& load) {
  if (!load.is(EventKind::kLoadState) || load.arguments == nullptr || broadcasts_weights(load)) return nullptr;
  const bool own = load.callee == ".load_state_dict";
  if (!own && !ends_with_part(load.callee, "set_model_state_dict")) return nullptr;
  const Event* shard = next_shard(trace, load.subject, 0);
  if (shard == nullptr || !is_absent(*shard, "sync_module_states")) return nullptr;
  const Guard* some = nullptr;
  bool others = false;
  for (const Object* one : alternatives(load.arguments->get(own ? "state_dict" : "model_state_dict", own ? 0 : 1))) {
    const Guard* guard = comes_from_a_file(*one) ? made_under_rank(one) : nullptr;
    if (guard != nullptr) some = guard;
    others |= !comes_from_a_file(*one);
  }
  return others ? some : nullptr;
}

}  // namespace

void rank0_load_no_broadcast(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& load : trace.events) {
      const Guard* guard = read_by_some(trace, load);
      if (guard != nullptr && !broadcast_after(trace, 0)) findings.at(guard->file, guard->statement);
    }
    for (const Event& shard : trace.events) {
      if (!shard.is(EventKind::kShard) || shard.pass != 1 || !is_absent(shard, "sync_module_states")) continue;
      const Object* given = shard.arguments->get("module", 0);
      const Guard* guard = given == nullptr ? nullptr : loaded_by_some(given);
      // Or: every rank builds, the first one loads into it.
      for (std::uint32_t i = 0; i < shard.index && guard == nullptr; ++i) {
        const Event& load = trace.events[i];
        if (load.is(EventKind::kLoadState) && same_model(load.subject, shard.subject))
          guard = rank_condition(load, true);
      }
      const int made = root_of(shard.subject)->created;
      const auto from = static_cast<std::uint32_t>(std::max(0, made));
      if (guard != nullptr && !broadcast_after(trace, from)) findings.at(guard->file, guard->statement);
    }
  }
}

void seed_differs_before_init(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& shard : trace.events) {
      if (!shard.is(EventKind::kShard) || shard.pass != 1 || shard.subject == nullptr ||
          !is_absent(shard, "sync_module_states"))
        continue;
      const Object* model = root_of(shard.subject);
      if (!random_init(model) || any_load(trace, model) ||
          broadcast_after(trace, static_cast<std::uint32_t>(model->created)))
        continue;
      const Event* seed = nullptr;
      for (const Event& event : trace.events) {
        if (is_torch_seed(event) && static_cast<int>(event.index) < model->created) seed = &event;
      }
      const Object* value = seed == nullptr ? nullptr : seed->argument("seed", 0);
      if (value == nullptr || !value->has(kRank)) continue;
      const auto [file, node] = where_the_rank_enters(trace, *seed);
      findings.at(file, node);
    }
  }
}

}  // namespace fx::knowledge::checks
