#include "base/text.h"
#include "knowledge/formats/llamafactory/arguments.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

Changes known_argument(const Input&, const Hit& hit) {
  if (hit.key == "evaluation_strategy") return rename_at(place_of(hit), "eval_strategy");
  if (hit.key.rfind("fsdp_", 0) == 0 && contains(hit.fix, "fsdp_config"))
    return {{Change::Kind::kMove, place_of(hit), "fsdp_config." + hit.key.substr(5), "", {}}};
  const auto near = nearest(hit.key, llamafactory_arguments());
  return near ? rename_at(place_of(hit), *near) : Changes{};
}

Changes four_bits(const Input& input, const Hit& hit) {
  const std::string method = to_lower(text_of(input.root().find("quantization_method")));
  return method == "hqq" || method == "eetq" ? Changes{} : set_at(place_of(hit), "4");
}

Changes plugin_name(const Input&, const Hit& hit) {
  return hit.key == "dist_config" ? put_near(place_of(hit), "dist_config.name", "fsdp2") : Changes{};
}

Changes not_layerwise(const Input& input, const Hit& hit) {
  const std::string name = hit.key.rfind("use_", 0) == 0 ? hit.key.substr(4) + "_layerwise" : "";
  const Node* node = input.root().find(name);
  return node != nullptr ? set_at(place_of(*node), "false") : Changes{};
}

}  // namespace

Fixes llamafactory_fixes() {
  return {
      {"llamafactory-unknown-arg", known_argument},
      {"llamafactory-fsdp-quant-bits", four_bits},
      {"llamafactory-v1-plugin-name", plugin_name},
      {"llamafactory-v1-cp-needs-fsdp2", put_it("dist_config.name", "fsdp2")},
      {"llamafactory-v1-mesh-mismatch", remove_it()},
      {"llamafactory-layerwise-distributed", not_layerwise},
  };
}

}  // namespace fx::knowledge
