// Process groups, meshes, collectives, and what tells a process its rank.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"
#include "knowledge/code/names.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

// Every rank must call them; those with true leave the same in argument 0 (or give it back) on every rank.
struct Collective {
  std::string_view name;
  bool reduces;
};
constexpr std::array kCollectives = {
    Collective{"all_reduce", true},
    Collective{"broadcast", true},
    Collective{"broadcast_object_list", true},
    Collective{"all_gather", true},
    Collective{"all_gather_object", true},
    Collective{"all_gather_into_tensor", true},
    Collective{"barrier", false},
    Collective{"monitored_barrier", false},
    Collective{"reduce", false},
    Collective{"gather", false},
    Collective{"gather_object", false},
    Collective{"scatter", false},
    Collective{"scatter_object_list", false},
    Collective{"reduce_scatter", false},
    Collective{"reduce_scatter_tensor", false},
    Collective{"all_to_all", false},
    Collective{"all_to_all_single", false},
};

// Longest first.
constexpr std::array<std::string_view, 3> kHomes = {"torch.distributed.nn.functional.", "torch.distributed.nn.",
                                                    "torch.distributed."};

const Collective* collective_of(std::string_view name) {
  for (const std::string_view home : kHomes) {
    if (!name.starts_with(home)) continue;
    const auto* found = std::ranges::find(kCollectives, name.substr(home.size()), &Collective::name);
    return found == kCollectives.end() ? nullptr : found;
  }
  return nullptr;
}

constexpr std::array<std::string_view, 18> kRankFunctions = {"is_root",
                                                             "is_main_process",
                                                             "is_rank_zero",
                                                             "is_rank0",
                                                             "is_rank_0",
                                                             "is_master",
                                                             "is_local_master",
                                                             "is_global_zero",
                                                             "is_main",
                                                             "get_rank",
                                                             "is_world_process_zero",
                                                             "is_local_main_process",
                                                             "get_global_rank",
                                                             "get_local_rank",
                                                             "is_primary",
                                                             "is_local_world_process_zero",
                                                             "get_node_local_rank",
                                                             "is_first_rank"};

bool is_rank_function(std::string_view last) {
  if (std::ranges::find(kRankFunctions, last) != kRankFunctions.end()) return true;
  return last.starts_with('_') && std::ranges::find(kRankFunctions, last.substr(1)) != kRankFunctions.end();
}

// "nccl"; "" if left out; "?" if computed.
std::string backend_of(const Arguments& given) {
  const Object* argument = given.get("backend", 0);
  const Object* backend = main_of(argument);
  if (backend == nullptr || backend->type == Type::kNone) return {};
  if (argument->type == Type::kUnion) return "?";
  if (backend->type == Type::kText && backend->constant) return to_lower(backend->name);
  if (backend->type == Type::kExternal && contains(backend->name, ".Backend."))
    return to_lower(last_part(backend->name));
  return "?";
}

Object* init_group(Interpreter& run, const Call& call, const Known& known) {
  run.note_backend(backend_of(call.given));
  return about_nothing(run, call, known);
}

// torch.multiprocessing.spawn(worker, args=(...)): the function gets the process index first.
Object* spawn(Interpreter& run, const Call& call, const Known&) {
  auto* worker = main_of(const_cast<Object*>(call.given.get("fn", 0)));
  Arguments& passed = run.arguments_of();
  Object* index = run.make(Type::kNumber, call.node);
  index->taints = kRank;
  index->identity = Identity::kSpawnIndex;
  passed.list.push_back({"", index, call.node});
  if (const Object* rest = main_of(call.given.get("args", 1))) {
    for (Object* item : rest->items) passed.list.push_back({"", item, call.node});
  }
  run.emit(EventKind::kCall, "torch.multiprocessing.spawn", call.node, &call.given, nullptr, nullptr, nullptr);
  if (worker != nullptr) run.call_object(worker, passed, call.node);
  return run.none();
}

constexpr std::array kFunctions = {
    Known{"torch.distributed.init_process_group", init_group, EventKind::kInitGroup},
    Known{"torch.distributed.destroy_process_group", about_nothing, EventKind::kDestroyGroup},
    Known{"torch.distributed.new_group", about_nothing, EventKind::kNewGroup},
    Known{"torch.distributed.init_device_mesh", about_nothing, EventKind::kMesh, Type::kMesh, kWorld},
    Known{"torch.distributed.DeviceMesh", about_nothing, EventKind::kMesh, Type::kMesh, kWorld},
    Known{"torch.cuda.set_device", about_nothing, EventKind::kSetDevice},
    Known{"torch.multiprocessing.spawn", spawn},
    Known{"torch.multiprocessing.start_processes", spawn},
};

// What the others sent stands in the list now.
void receive(Interpreter& run, const Call& call, Taints taints) {
  if (call.first == nullptr || call.first->type != Type::kSequence || !contains(call.name, "object")) return;
  for (Object*& item : call.first->items) {
    if (item->type == Type::kNone) item = run.unknown(call.node, taints);
  }
}

}  // namespace

bool is_named_for_reducing(std::string_view name) {
  return mentions(name, {"all_reduce", "allreduce", "all_gather", "allgather", "broadcast"});
}

std::span<const Known> process_group_functions() {
  return kFunctions;
}

Object* collective(Interpreter& run, const Call& call) {
  const Collective* known = collective_of(call.name);
  if (known == nullptr) return nullptr;
  const Taints taints = known->reduces ? kReduced : kLocal;
  Object* value = value_of(run, call, {call.name, nullptr, EventKind::kCollective, Type::kUnknown, taints});
  note(run, call, EventKind::kCollective, call.first, value);
  receive(run, call, taints);
  if (known->reduces && call.first != nullptr) reduce(call.argument(0));
  return value;
}

// broadcast_object_cpu(x), utils.all_reduce_mean(x): not sent, but named for what it does.
Object* foreign_collective(Interpreter& run, const Call& call) {
  if (call.name.starts_with("torch.") || !is_named_for_reducing(last_part(call.name))) return nullptr;
  Object* value = value_of(run, call, {call.name, nullptr, EventKind::kCall, Type::kUnknown, kReduced});
  note(run, call, EventKind::kCall, call.first, value);
  if (call.first != nullptr) reduce(call.argument(0));
  return value;
}

Object* rank_function(Interpreter& run, const Call& call) {
  const std::string_view last = last_part(call.name);
  const bool size = last == "get_world_size";
  if (!size && !is_rank_function(last)) return nullptr;
  Object* value = value_of(run, call, {call.name, nullptr});
  value->type = last.starts_with("get_") ? Type::kNumber : Type::kBool;
  value->taints = size ? kWorld : kRank;
  if (size) value->identity = Identity::kWorldSize;
  if (last == "get_rank" || last == "get_global_rank") value->identity = Identity::kGlobalRank;
  if (last == "get_node_local_rank" || last == "get_local_rank") value->identity = Identity::kLocalRank;
  return note(run, call, EventKind::kCall, call.first, value);
}

}  // namespace fx::knowledge::code
