// parallelism_config: the device mesh.
#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = AccelerateView;

void size_mismatch(const Input& input, Hits& hits) {
  const V view(input);
  const auto processes = view.processes();
  if (!is_set(view.mesh_block()) || !processes || view.mesh_size("sp_size") > 1) return;
  long long product = 1;
  std::string terms;
  for (const char* name : {"dp_replicate_size", "dp_shard_size", "tp_size", "cp_size"}) {
    const long long size = view.mesh_size(name);
    if (size <= 0 || size > 1000000) return;
    product *= size;
    terms += (terms.empty() ? "" : " x ") + std::to_string(size);
    if (product > 1000000000) return;
  }
  if (product == 1 || product == *processes) return;
  hits.at(*view.mesh_block(), "dp_replicate x dp_shard x tp x cp = " + terms + " = " + std::to_string(product) +
                                  ", but num_processes is " + std::to_string(*processes) + ".");
}

void requires_fsdp2(const Input& input, Hits& hits) {
  const V view(input);
  if (view.fsdp_on() && view.version() == 1 && is_set(view.mesh_block())) hits.at(*view.mesh_block());
}

void cp_sp(const Input& input, Hits& hits) {
  const V view(input);
  if (view.mesh_size("cp_size") > 1 && view.mesh_size("sp_size") > 1) hits.at(*view.mesh("cp_size"));
}

void tp_with_replicate(const Input& input, Hits& hits) {
  const V view(input);
  if (view.mesh_size("dp_replicate_size") <= 1 || view.mesh_size("dp_shard_size") != 1) return;
  for (const char* name : {"tp_size", "cp_size"}) {
    if (view.mesh_size(name) > 1) {
      hits.at(*view.mesh(name));
      return;
    }
  }
}

void prefix_missing(const Input& input, Hits& hits) {
  const Node* block = V(input).mesh_block();
  if (block == nullptr) return;
  for (const Node& child : block->children) {
    if (child.name.rfind("parallelism_config_", 0) == 0) continue;
    hits.at(child, "", "Write parallelism_config_" + quote_input(child.name, 60) + ".");
  }
}

void mesh_without_shard(const Input& input, Hits& hits) {
  const V view(input);
  if (view.fsdp_on() && view.mesh_size("tp_size") > 1 && view.mesh_size("dp_shard_size") == 1 &&
      view.mesh_size("cp_size") == 1) {
    hits.at(*view.mesh("tp_size"));
  }
}

}  // namespace

Rules accelerate_mesh_rules() {
  return {
      {"accelerate-parallelism-size-mismatch", Severity::kError, kAccelerateYaml, size_mismatch},
      {"accelerate-parallelism-requires-fsdp2", Severity::kError, kAccelerateYaml, requires_fsdp2},
      {"accelerate-parallelism-cp-sp-exclusive", Severity::kError, kAccelerateYaml, cp_sp},
      {"accelerate-parallelism-tp-with-replicate", Severity::kError, kAccelerateYaml, tp_with_replicate},
      {"accelerate-parallelism-prefix-missing", Severity::kWarning, kAccelerateYaml, prefix_missing},
      {"accelerate-fsdp-mesh-without-shard", Severity::kError, kAccelerateYaml, mesh_without_shard},
  };
}

}  // namespace fx::knowledge
