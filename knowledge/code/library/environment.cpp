// Environment variables that tell a process its place, and the functions that read them.
#include <algorithm>
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"

namespace fx::knowledge::code {
namespace {

struct Variable {
  std::string_view name;
  Taint taint;
  Identity identity;
};
constexpr std::array kVariables = {
    Variable{"RANK", kRank, Identity::kGlobalRank},
    Variable{"SLURM_PROCID", kRank, Identity::kGlobalRank},
    Variable{"OMPI_COMM_WORLD_RANK", kRank, Identity::kGlobalRank},
    Variable{"PMI_RANK", kRank, Identity::kGlobalRank},
    Variable{"LOCAL_RANK", kRank, Identity::kLocalRank},
    Variable{"SLURM_LOCALID", kRank, Identity::kLocalRank},
    Variable{"OMPI_COMM_WORLD_LOCAL_RANK", kRank, Identity::kLocalRank},
    Variable{"WORLD_SIZE", kWorld, Identity::kWorldSize},
    Variable{"SLURM_NTASKS", kWorld, Identity::kWorldSize},
    Variable{"SLURM_NPROCS", kWorld, Identity::kWorldSize},
    Variable{"OMPI_COMM_WORLD_SIZE", kWorld, Identity::kWorldSize},
    Variable{"LOCAL_WORLD_SIZE", kWorld, Identity::kNone},
};

Object* get(Interpreter& run, const Call& call, const Known& known) {
  constexpr std::string_view kOneName = "os.getenv";  // whichever way it is read
  Object* value = value_of(run, call, known);
  const Object* key = call.first;
  if (key != nullptr && key->type == Type::kText) {
    if (const auto* found = std::ranges::find(kVariables, key->name, &Variable::name); found != kVariables.end()) {
      value->taints = found->taint;
      value->identity = found->identity;
    }
  }
  value->callee = kOneName;
  run.emit(EventKind::kCall, kOneName, call.node, &call.given, nullptr, nullptr, value);
  return value;
}

constexpr std::array kFunctions = {
    Known{"os.getenv", get, EventKind::kCall, Type::kText},
    Known{"os.environ.get", get, EventKind::kCall, Type::kText},
    Known{"os.environ.pop", get, EventKind::kCall, Type::kText},
};

}  // namespace

std::span<const Known> environment_functions() {
  return kFunctions;
}

}  // namespace fx::knowledge::code
