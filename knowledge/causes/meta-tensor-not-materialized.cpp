#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  std::vector<int> errors;
  for (const int line : m("meta").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any("error|exception|must|cannot|warning: *still", low)) errors.push_back(line);
  }
  Claim out;
  if (errors.empty()) return out;
  out.score = 0.94;
  for (const int line : errors) {
    if (out.lines.size() < 3) out.show(line);
  }
  for (const int line : m("mode").telling) {
    if (out.lines.size() < 6) out.show(line);
  }
  if (s.book.ranks_of(errors).empty()) {
    // The error names no rank: the one that says where its weights are.
    const auto ranks = s.book.ranks_of(m("meta").lines);
    if (ranks.size() == 1) return out.root(*ranks.begin());
  }
  return out.root(s.one_rank(errors));
}

}  // namespace

CauseRule meta_tensor_not_materialized() {
  return {
      "meta-tensor-not-materialized",
      {{"meta",
        "cannot copy out of meta tensor|still on the meta device|is on the meta device"
        "|on the meta device|meta tensor|tensor.item() cannot be called on meta|on meta device"
        "|device='meta'|device=meta|device: meta|expected*meta|are on meta|parameters*meta device|tensor on device meta"},
       {"mode",
        "cpu_ram_efficient_loading|sync_module_states|init_empty_weights|low_cpu_mem|on meta"
        "|local shard|to_empty|loading weights on meta"}},
      evaluate};
}

}  // namespace fx::knowledge
