#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/placement.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

bool shows_memory_pressure(const Trace& trace, const Event& shard) {
  if (shards_with_offload(shard)) return true;
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    return event.is(EventKind::kCheckpointCall) ||
           (event.is(EventKind::kCheckpointWrap) && same_model(event.subject, shard.subject));
  });
}

// Other modules of lists are sharded by another call, which does not say so: only some stay gathered.
bool others_reshard(const Trace& trace, const Event& shard) {
  return std::ranges::any_of(trace.events, [&](const Event& other) {
    if (!is_fsdp2(other) || other.node == shard.node || other.subject == nullptr || !core_of(other.subject)->element ||
        !compatible(other, shard))
      return false;
    const Object* reshard = other.arguments->get("reshard_after_forward");
    return reshard == nullptr ? !other.arguments->has_unknown() : !main_of(reshard)->is_false();
  });
}

// pp_rank, mesh["pipe"], PipelineStage, num_stages
bool names_a_pipeline(std::string_view name) {
  for (const std::string_view word : {"pipelin", "num_stages", "stage_index", "stage_idx", "model_parts"}) {
    if (contains_ignoring_case(name, word)) return true;
  }
  const auto words = split(name, '_');
  return std::ranges::any_of(words, [](std::string_view word) { return word == "pp" || word == "pipe"; });
}

// A stage runs many microbatches between two steps: to gather its blocks anew for each would cost more than it saves.
bool is_for_pipelines(const Program& program) {
  return std::ranges::any_of(program.files(), [](const auto& file) {
    for (std::uint32_t i = 0; i < file->syntax->size(); ++i) {
      const Node node = file->syntax->at(i);
      if ((node.is("identifier") || node.is("string_content")) && names_a_pipeline(node.text())) return true;
    }
    return false;
  });
}

// A tensor that the model's class registered under this name: moved alone it takes no parameter along.
bool is_buffer(const Trace& trace, const Object& moved) {
  return !moved.name.empty() && std::ranges::any_of(trace.events, [&](const Event& event) {
    const Object* name = event.callee == ".register_buffer" ? event.argument("name", 0) : nullptr;
    return name != nullptr && name->type == Type::kText && name->name == moved.name;
  });
}

// Under a flag that also decides whether the model moves.
bool is_chosen_with(const Event& shard, const Event& move) {
  for (const std::string_view name : {"offload_policy", "cpu_offload"}) {
    const Object* policy = shard.argument(name);
    if (policy == nullptr || policy->guard == nullptr) continue;
    Event made;
    made.guard = policy->guard;
    made.pass = move.pass;
    if (!compatible(made, move)) return false;
  }
  return true;
}

bool is_device_map(const Object* value) {
  return value != nullptr && value->type != Type::kNone && !names_cpu_or_meta(value);
}

}  // namespace

void full_model_on_gpu_before_shard(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    if (!trace.has(EventKind::kShard)) continue;
    for (const Event& event : trace.events) {
      if (event.pass != 1) continue;
      const Object* model = event.result;
      const bool loads = event.is(EventKind::kCall) && model != nullptr && is_pretrained(model) &&
                         is_device_map(event.argument("device_map"));
      const bool moves = moves_to_gpu(event) && event.subject != nullptr && is_pretrained(event.subject);
      if (!loads && !moves) continue;
      const Event* shard = next_shard(trace, moves ? event.subject : model, event.index);
      if (shard != nullptr && compatible(event, *shard)) findings.at(event);
    }
  }
}

void reshard_off_everywhere(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& shard : trace.events) {
      if (!is_fsdp2(shard) || shard.pass != 1 || shard.subject == nullptr || !core_of(shard.subject)->element) continue;
      const Object* reshard = shard.argument("reshard_after_forward");
      if (reshard == nullptr || !reshard->is_false() || reshard->type == Type::kNone ||
          shard.arguments->get("reshard_after_forward")->type == Type::kUnion)
        continue;
      if (shows_memory_pressure(trace, shard) && !others_reshard(trace, shard) && !is_for_pipelines(program))
        findings.at(shard);
    }
  }
}

void move_after_shard(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    if (!trace.has(EventKind::kShard)) continue;
    for (const Event& event : trace.events) {
      const bool fills = event.is(EventKind::kToEmpty) && names_gpu(event.argument("device", 0));
      if ((!fills && !moves_to_gpu(event)) || event.subject == nullptr || event.subject->type != Type::kModel) continue;
      const bool offloaded = std::ranges::any_of(trace.events, [&](const Event& shard) {
        return shard.index < event.index && shard.is(EventKind::kShard) && shards_with_offload(shard) &&
               same_model(shard.subject, event.subject) && compatible(shard, event) && is_chosen_with(shard, event);
      });
      if (offloaded && !is_buffer(trace, *event.subject)) findings.at(event);
    }
  }
}

void summon_full_params_in_loop(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.loop == nullptr || !ends_with_part(event.callee, "summon_full_params")) continue;
      for (const Loop* loop = event.loop; loop != nullptr; loop = loop->outer) {
        const bool steps = std::ranges::any_of(
            trace.events, [&](const Event& step) { return step.is(EventKind::kStep) && step.loop == loop; });
        if (!steps) continue;
        const Guard* rare = condition_within_loop(trace, event, *loop);
        const bool always = rare == nullptr || (rare->implied && !contains(rare->test.text(), "%"));
        if (always) findings.at(event);
        break;
      }
    }
  }
}

}  // namespace fx::knowledge::checks
