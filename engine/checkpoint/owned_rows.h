// The rows that one rank owns of every parameter: the one loop behind loading, saving and checkpoints.
#pragma once

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
// its gradient), and may be written.
template <class Flat, class Body>
Result<void> for_each_owned(Groups& groups, Owned which, const Flat& flat, const Body& body) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GroupLayout& layout = which == Owned::kAll ? groups[g]->layout() : groups[g]->grad_layout();
    for (std::size_t i = 0; i < layout.params.size(); ++i) {
      const RowRange rows = rows_of(layout.params[i].def.shape[0], groups[g]->rank(), layout.size);
      if (rows.count() == 0) continue;
      const at::Tensor view = groups[g]->rows_view(flat(g), layout, i);
      at::Tensor host = view.cpu();  // itself on the CPU
      const std::span<float> values(host.mutable_data_ptr<float>(), static_cast<std::size_t>(host.numel()));
      if (Result<void> done = body(layout.params[i].def.name, rows, values); !done) return done;
      if (!view.is_cpu()) view.copy_(host);
    }
  }
  return {};
}

}  // namespace fx::engine
