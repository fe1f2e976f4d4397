// What goes into a checkpoint file, and who writes it.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/accumulation.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/participation.h"
#include "knowledge/code_rules/processes.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool is_fsdp(Sharding sharding) {
  return sharding == Sharding::kFsdp1 || sharding == Sharding::kFsdp2;
}

// Handed in from elsewhere: the optimizers of the request are all over sharded models, so this one is too.
bool is_over_shards(const Program& program, const Trace& here, const Object& optimizer) {
  const bool handed_in = optimizer.made_by == nullptr && optimizer.callee.empty() &&
                         (optimizer.type == Type::kOptimizer || optimizer.type == Type::kUnknown);
  if (!handed_in || (optimizer.type == Type::kUnknown && !contains_ignoring_case(optimizer.name, "opt"))) return false;
  bool some = std::ranges::any_of(here.events, [](const Event& event) {
    return event.is(EventKind::kStateDict) && event.subject != nullptr && event.subject->type == Type::kModel &&
           is_fsdp(event.subject->sharding);
  });
  for (const Trace& trace : program.traces()) {
    for (const Event& built : trace.events) {
      if (!built.is(EventKind::kOptimizer)) continue;
      if (!is_fsdp(sharding_of(trace, built.subject))) return false;
      some = true;
    }
  }
  return some;
}

// A state dict that holds this rank's shards: of an FSDP2 model, or of an optimizer over a sharded model.
bool is_local_shards(const Program& program, const Trace& trace, const Object& state) {
  if (state.type != Type::kStateDict || state.callee != ".state_dict" || state.receiver == nullptr) return false;
  const Object* owner = core_of(state.receiver);
  if (owner->type == Type::kModel) return sharding_of(trace, state.receiver) == Sharding::kFsdp2;
  if (is_over_shards(program, trace, *owner)) return true;
  if (owner->type != Type::kOptimizer) return false;
  return is_fsdp(sharding_of(trace, model_of_optimizer(trace, owner)));
}

// {name: tensor.cpu() for name, tensor in net.state_dict().items()}: still shards, unless each is gathered.
bool copies_local_shards(const Program& program, const Trace& trace, const Object& copied) {
  const auto is_gathered = [](const Object& object) { return object.callee == ".full_tensor"; };
  const auto is_shards = [&](const Object& object) { return is_local_shards(program, trace, object); };
  return std::ranges::any_of(copied.members, [&](const auto& member) {
    return made_from(member.second, is_shards) && !made_from(member.second, is_gathered);
  });
}

// The object itself, or an item of the dict or list that is saved.
bool holds_local_shards(const Program& program, const Trace& trace, const Object* saved, int depth = 0) {
  for (const Object* one : alternatives(saved)) {
    if (is_local_shards(program, trace, *one)) return true;
    if (one->callee == "comprehension" && copies_local_shards(program, trace, *one)) return true;
    if (depth > 3 || (one->type != Type::kDict && one->type != Type::kSequence) || one->callee == "comprehension")
      continue;
    for (const auto& [key, member] : one->members) {
      if (holds_local_shards(program, trace, member, depth + 1)) return true;
    }
    for (const Object* item : one->items) {
      if (holds_local_shards(program, trace, item, depth + 1)) return true;
    }
  }
  return false;
}

bool is_torch_save(const Event& event) {
  return event.is(EventKind::kSave) && event.callee == "torch.save";
}

// path.write_text(...), frame.to_csv(path), numpy.save(path, ...)
constexpr std::array<std::string_view, 2> kPathWrites = {".write_text", ".write_bytes"};
constexpr std::array<std::string_view, 8> kOtherWrites = {"numpy.save",    "numpy.savez", "numpy.savez_compressed",
                                                          "numpy.savetxt", ".to_csv",     ".to_parquet",
                                                          ".to_pickle",    "pickle.dump"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const Object* path_of(const Event& event) {
  if (event.arguments == nullptr) return nullptr;
  if (is_one_of(kPathWrites, event.callee) || event.callee == ".open") return event.receiver;
  if (is_one_of(kOtherWrites, event.callee)) return event.arguments->get("path", event.callee == "pickle.dump" ? 1 : 0);
  if (event.callee == "open") return event.arguments->get("file", 0);
  if (event.callee == "torch.save") return event.arguments->get("f", 1);
  if (event.callee == "safetensors.torch.save_file") return event.arguments->get("filename", 1);
  return event.arguments->get("save_directory", 0);
}

bool opens_for_writing(const Event& event) {
  const bool method = event.callee == ".open";
  if ((event.callee != "open" && !method) || !event.is(EventKind::kCall)) return false;
  const Object* mode = event.argument("mode", method ? 0 : 1);
  return mode != nullptr && mode->type == Type::kText && mode->constant &&
         (contains(mode->name, "w") || contains(mode->name, "x"));
}

bool writes(const Event& event) {
  if (opens_for_writing(event)) return true;
  if (event.is(EventKind::kCall) && (is_one_of(kPathWrites, event.callee) || is_one_of(kOtherWrites, event.callee)))
    return event.callee != "pickle.dump";
  if (!event.is(EventKind::kSave) || event.callee == ".push_to_hub" || event.callee == ".save" ||
      event.callee == ".save_model")
    return false;
  return event.arguments == nullptr || event.arguments->find("is_main_process") == nullptr;
}

// Some part of the path is text that the code spells out, and no part is unknown to be a buffer or a temporary name.
bool is_fixed_path(const Object* path) {
  if (path == nullptr) return false;
  const bool other = made_from(path, [](const Object& object) {
    return contains_ignoring_case(object.callee, "BytesIO") || contains(object.callee, "tempfile") ||
           contains(object.callee, "uuid");
  });
  if (other) return false;
  return made_from(path, [](const Object& object) {
    const bool option = object.callee == ".parse_args";  // all ranks get the same command line
    return option || (object.type == Type::kText && !object.name.empty());
  });
}

// A condition that may well be about the rank although its value was not seen.
bool may_be_rank_guarded(const Event& event) {
  if (may_be_for_one_rank(event)) return true;
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    // `if state:` after a gather: the full state is handed to rank 0 only, the others get an empty one.
    const Object* tested = main_of(guard->value);
    if (tested != nullptr && tested->callee == "not") tested = main_of(tested->receiver);
    if (tested != nullptr && tested->type == Type::kStateDict && ends_with_part(tested->callee, "get_model_state_dict"))
      return true;
    if (contains_ignoring_case(guard->test.text(), "world_size")) return true;
  }
  return false;
}

// A unit test writes into a folder of its own.
bool in_a_test(const Event& event) {
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    if (frame->function != nullptr && frame->function->name.starts_with("test_")) return true;
  }
  return false;
}

bool takes_part(const Trace& trace, const Event& event) {
  if (needs_all_ranks(event)) return !event.is(EventKind::kMesh);
  if (event.is(EventKind::kForward) || event.is(EventKind::kBackward)) {
    return event.is(EventKind::kBackward) || is_fsdp(sharding_of(trace, event.subject));
  }
  return event.is(EventKind::kInitGroup) || event.is(EventKind::kPrepare);
}

// All ranks come here: the same function, or a caller, does something that needs all of them, under no condition of its
// own.
bool all_ranks_come(const Trace& trace, const Event& write) {
  for (const Event& event : trace.events) {
    if (!takes_part(trace, event) || may_be_rank_guarded(event)) continue;
    for (const Frame* frame = write.frame; frame != nullptr; frame = frame->caller) {
      if (event.frame == frame || (event.frame != nullptr && event.frame->caller == frame)) return true;
    }
  }
  return false;
}

}  // namespace

void sharded_state_torch_save(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& save : trace.events) {
      if (!is_torch_save(save) || differs_by_rank(path_of(save))) continue;
      if (save.arguments != nullptr && holds_local_shards(program, trace, save.arguments->get("obj", 0)))
        findings.at(save, "The file gets the shards of one rank.");
    }
  }
}

void all_ranks_write_same_file(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& write : trace.events) {
      if (!writes(write) || may_be_rank_guarded(write) || in_a_test(write)) continue;
      const Object* path = path_of(write);
      if (!is_fixed_path(path) || differs_by_rank(path) || !all_ranks_come(trace, write)) continue;
      const bool reported = is_torch_save(write) && holds_local_shards(program, trace, write.arguments->get("obj", 0));
      if (!reported) findings.at(write);
    }
  }
}

}  // namespace fx::knowledge::checks
