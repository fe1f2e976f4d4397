// The rows that one rank owns of every parameter: the one loop behind loading, saving and checkpoints.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/shard/param_group.h"

namespace fx::engine {

using Groups = std::vector<std::unique_ptr<ParamGroup>>;

enum class Owned { kAll, kTrainable };

// Calls body(name, rows, values) for each parameter (or each trainable one) of which this rank owns rows, in group
// order, until one fails. values are those rows of flat(g), a flat fp32 tensor laid out like group g's master shard (or
// its gradient), and may be written. Groups whose flat(g) is undefined are left out.
template <class Flat, class Body>
Result<void> for_each_owned(Groups& groups, Owned which, const Flat& flat, const Body& body) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const at::Tensor whole = flat(g);
    if (!whole.defined()) continue;
    const GroupLayout& layout = which == Owned::kAll ? groups[g]->layout() : groups[g]->grad_layout();
    for (std::size_t i = 0; i < layout.params.size(); ++i) {
      const RowRange rows = rows_of(layout.params[i].def.shape[0], groups[g]->rank(), layout.size);
      if (rows.count() == 0) continue;
      const at::Tensor view = groups[g]->rows_view(whole, layout, i);
      at::Tensor host = view.cpu();  // itself on the CPU
      const std::span<float> values(host.mutable_data_ptr<float>(), static_cast<std::size_t>(host.numel()));
      if (Result<void> done = body(layout.params[i].def.name, rows, values); !done) return done;
      if (!view.is_cpu()) view.copy_(host);
    }
  }
  return {};
}

enum class Weights { kAll, kFrozen, kTrained };
enum class Access { kRead, kWrite };

// Calls body(name, rows, values) for the weights of which this rank owns rows, as fp32, until one fails. What is kept
// in another dtype is converted a piece at a time: then one parameter takes several calls.
template <class Body>
Result<void> for_each_weight(Groups& groups, Weights which, Access access, const Body& body) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 22;  // elements
  for (auto& group : groups) {
    const auto& params = group->layout().params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (which != Weights::kAll && params[i].def.trainable != (which == Weights::kTrained)) continue;
      const at::Tensor kept = group->weight_rows(i);
      const RowRange owned = rows_of(params[i].def.shape[0], group->rank(), group->layout().size);
      const bool exact = kept.scalar_type() == at::kFloat && kept.is_cpu();
      const std::int64_t step = exact ? owned.count() : std::max<std::int64_t>(1, kPiece / params[i].row_size);
      for (std::int64_t row = owned.begin; row < owned.end; row += step) {
        const RowRange rows{row, std::min(row + step, owned.end)};
        const at::Tensor part = kept.narrow(0, row - owned.begin, rows.count());
        const at::Tensor wide = part.cpu().to(at::kFloat);
        const std::span<float> values(wide.mutable_data_ptr<float>(), static_cast<std::size_t>(wide.numel()));
        if (Result<void> done = body(params[i].def.name, rows, values); !done) return done;
        if (access == Access::kWrite && !exact) part.copy_(wide);
      }
    }
  }
  return {};
}

}  // namespace fx::engine
