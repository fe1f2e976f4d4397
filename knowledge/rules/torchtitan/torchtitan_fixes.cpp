#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/torchtitan/torchtitan.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

using V = TitanView;

// [section.]key, a flag --section.key or a table: the nearest name of its section, or the nearest section.
Changes known_field(const Input& input, const Hit& hit) {
  const Node* node = node_at(input, place_of(hit));
  const std::string path = hit.key.rfind("--", 0) == 0 ? hit.key.substr(2) : hit.key;
  if (node == nullptr) return {};
  std::vector<std::string> names;
  const auto dot = path.find('.');
  for (const auto& section : titan_sections()) {
    if (dot == std::string::npos) names.emplace_back(section.name);
    if (dot != std::string::npos && section.name == path.substr(0, dot)) names = section.keys;
  }
  const auto near = nearest(path.substr(dot == std::string::npos ? 0 : dot + 1), names);
  if (!near || contains(*near, ".")) return {};
  return rename_at(place_of(hit), input.syntax == "shell" ? path.substr(0, dot + 1) + *near : *near);
}

Changes moved_field(const Input&, const Hit& hit) {
  for (const TitanMoved& row : titan_moved()) {
    if (row.from != hit.key) continue;
    const std::string to(row.to);
    if (!contains(row.from, ".")) return rename_at(place_of(hit), to);
    const auto slash = to.rfind('.'), from_slash = hit.key.rfind('.');
    if (to.substr(0, slash) == hit.key.substr(0, from_slash)) return rename_at(place_of(hit), to.substr(slash + 1));
    return {{Change::Kind::kMove, place_of(hit), to, "", {}}};
  }
  return {};
}

Changes degree(const Input&, const Hit& hit) {
  return set_at(place_of(hit), contains(hit.key, "data_parallel_shard") ? "-1" : "1");
}

Changes reshard(const Input& input, const Hit& hit) {
  const Node* node = V(input).parallel("fsdp_reshard_after_forward");
  if (is_true(node)) return set_at(place_of(hit), "always");
  return is_false(node) ? set_at(place_of(hit), "never") : Changes{};
}

// compile for the model; a component list without it is the writer's choice.
Changes compile_model(const Input& input, const Hit& hit) {
  if (V(input).get("compile", "components") != nullptr && !input.is(kTorchtitanToml)) return {};
  const auto words = words_of(V(input).get("compile", "components"));
  if (!words.empty() && std::find(words.begin(), words.end(), "model") == words.end()) return {};
  return put_near(place_of(hit), "compile.enable", "true");
}

Changes free_shard(const Input& input, const Hit&) {
  const V view(input);
  const Node* shard = view.degree("data_parallel_shard");
  const long long rest = view.size("data_parallel_replicate") * view.size("context_parallel") *
                         view.size("tensor_parallel") * view.size("pipeline_parallel");
  if (shard == nullptr || !view.world() || rest <= 0 || *view.world() % rest != 0) return {};
  return set_at(place_of(*shard), "-1");
}

Changes assets_path(const Input& input, const Hit& hit) {
  const std::string path = text_of(node_at(input, place_of(hit)));
  const bool file = path.size() > 6 && path.substr(path.size() - 6) == ".model";
  return file ? Changes{} : rename_at(place_of(hit), "hf_assets_path");
}

Changes symm_mem(const Input& input, const Hit& hit) {
  return input.syntax == "python" ? set_at(place_of(hit), "false") : remove_at(place_of(hit));
}

}  // namespace

Fixes torchtitan_fixes() {
  return {
      {"torchtitan-unknown-field", known_field},
      {"torchtitan-moved-field", moved_field},
      {"torchtitan-degree-invalid", degree},
      {"torchtitan-reshard-invalid", reshard},
      {"torchtitan-selective-ac-option-invalid", set_it("op")},
      {"torchtitan-memory-budget-needs-compile", compile_model},
      {"torchtitan-async-tp-needs-compile", compile_model},
      {"torchtitan-parallel-dims-mismatch", free_shard},
      {"torchtitan-keep-latest-k-one", set_it("2")},
      {"torchtitan-tokenizer-path-deprecated", assets_path},
      {"torchtitan-symm-mem-needs-sm90", symm_mem},
  };
}

}  // namespace fx::knowledge
