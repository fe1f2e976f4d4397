#include <algorithm>

#include "base/text.h"
#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

// An error that compares a number of ranks with parallel degrees.
bool compares_degrees(std::string_view low) {
  return matches_any(
             "world size|world_size|num_processes|number of processes|number of gpus|num_gpus|n_gpus|devices|ranks",
             low) &&
         matches_any(
             "parallel|mesh|degree|dp|tp_|tp=|pp_|cp_|ep_|shard|replica|fsdp_size|per_node|num_devices|group size|total_size|model_size",
             low) &&
         matches_any("divisible|divide|multiple of|match|equal|!=|bigger|larger|exceed|product|smaller|greater|must be",
                     low);
}

Claim evaluate(const Scene& s, const MarkView& m) {
  // Watchdogs and checkpoint loads name the world size too; only start-up errors count here.
  const auto& mismatch = m("mismatch");
  int error = -1;
  for (const int line : mismatch.lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any(
            "raise _|file \"|assert _|checkpoint state|loaded checkpoint|optimizer state|saved with|batch size|batch_size",
            low))
      continue;
    error = line;
    break;
  }
  Claim out;
  if (error >= 0) {
    out.score = s.exception_at(error) != nullptr ? 0.93 : 0.8;
    out.show(error);
  } else {
    // An index, key or assertion error that rises out of the mesh code itself.
    for (const auto& exception : s.exceptions) {
      const bool fits =
          matches_any("indexerror|keyerror|assertionerror|valueerror|runtimeerror", to_lower(exception.type));
      if (fits && compares_degrees(exception.message) &&
          !matches_any("checkpoint|optimizer state|saved|batch", exception.message)) {
        out.score = 0.92;
        out.show(exception.line);
      }
      for (const int frame : exception.frames) {
        if (!fits ||
            !matches_any("device_mesh.py|parallel_dims|init_device_mesh|_dim_group_infos|mesh_dim=|parallel_state.py",
                         s.book.at(frame).low))
          continue;
        out.score = std::max(out.score, 0.85);
        out.show(exception.line).show(frame);
      }
    }
  }
  if (out.score > 0) out.show(m("degrees"), 3);
  return out;
}

}  // namespace

CauseRule mesh_world_size_mismatch() {
  return {
      "mesh-world-size-mismatch",
      {{"mismatch",
        "mesh*to have ndim|mesh*dimensions but|mesh*dims but|invalid parallel dims|expects a*devicemesh|devicemesh*but got|!= world_size|world size*not divisible by"
        "|world_size*not divisible by|not divisible by*world size|not divisible by*world_size"
        "|not divisible by*parallel|mesh*should not exceed|world size * must be"
        "|product of*parallel|must equal*world size|must equal world_size"
        "|mesh should not be bigger|exceeds world size|world size*is not|invalid mesh_dim_names"
        "|mesh_dim_names*valid|does not match*world|mismatch*world size|not a multiple of*world"
        "|is not divisible by tensor*parallel|divisible by*context_parallel|found no devicemesh"
        "|no shard dim|no dimension for fsdp|should be a factor of*not|degree*world"},
       {"mesh_error",
        "device_mesh.py|init_device_mesh|get_group|parallel_dims|parallelism_config"
        "|parallel_state.py|_dim_group_infos|devicemesh("},
       {"degrees",
        "mesh_shape|num_replicate|parallelismconfig|dp_shard|tp_size|pp_degree|device mesh"
        "|sharding_group_size|replica_group_size|tensor_parallel|dp_replicate|parallel_size"
        "|world_size="}},
      evaluate};
}

}  // namespace fx::knowledge
