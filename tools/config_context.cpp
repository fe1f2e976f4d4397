#include "tools/config_context.h"

namespace fx::tools {

const Fields<ConfigContext>& config_context_fields() {
  using C = ConfigContext;
  static const auto fields =
      Fields<C>{}
          .add("gpus", &C::gpus, "GPUs per node")
          .min(0)
          .add("nodes", &C::nodes, "number of nodes")
          .min(0)
          .add("gpu_memory_gib", &C::gpu_memory_gib, "memory of one GPU in GiB")
          .min(0)
          .add("gpu", &C::gpu, "name of the GPU, such as H100-80GB")
          .add("model", &C::model, "fields of the model's Hugging Face config.json")
          .open()
          .add("versions", &C::versions,
               "installed versions by package name, such as {\"torch\": \"2.8.0\"}; \"main 2026-05-01\" is a checkout "
               "of that day")
          .open();
  return fields;
}

knowledge::Context to_context(const ConfigContext& in) {
  knowledge::Context out;
  if (in.gpus > 0) out.gpus = in.gpus;
  if (in.nodes > 0) out.nodes = in.nodes;
  if (in.gpu_memory_gib > 0) out.gpu_memory_gib = in.gpu_memory_gib;
  out.gpu = in.gpu;
  if (!in.model.text.empty()) out.model = knowledge::read_json(in.model.text).root;
  if (!in.versions.text.empty()) {
    for (const auto& version : knowledge::read_json(in.versions.text).root.children)
      out.versions[version.name] = version.text;
  }
  return out;
}

}  // namespace fx::tools
