#include "engine/shard/layout.h"

#include <algorithm>
#include <stdexcept>

namespace fx::engine {

std::int64_t rows_per_rank(std::int64_t rows, int size) {
  return (rows + size - 1) / size;
}

RowRange rows_of(std::int64_t rows, int rank, int size) {
  const std::int64_t c = rows_per_rank(rows, size);
  return {std::min(rank * c, rows), std::min((rank + 1) * c, rows)};
}

GroupLayout make_layout(const std::vector<ParamDef>& params, int size) {
  GroupLayout layout;
  layout.size = size;
  for (const auto& def : params) {
    ParamLayout param;
    param.def = def;
    param.row_size = 1;
    if (def.shape.empty()) {
      throw std::invalid_argument("parameter " + def.name + " has no dimension to shard: make it 1-D");
    }
    for (std::size_t i = 0; i < def.shape.size(); ++i) {
      if (def.shape[i] <= 0) throw std::invalid_argument("parameter " + def.name + " is empty");
      if (i > 0) param.row_size *= def.shape[i];
    }
    param.padded = rows_per_rank(def.shape[0], size) * param.row_size;
    param.shard_offset = layout.shard_numel;
    param.full_offset = layout.full_numel;
    layout.shard_numel += param.padded;
    layout.full_numel += size * param.padded;
    layout.params.push_back(std::move(param));
  }
  return layout;
}

}  // namespace fx::engine
