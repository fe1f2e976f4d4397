// How the parameters of one group are cut into rank shards: along dim 0, by the rule of torch.chunk, padded at the
// tail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fx::engine {

struct ParamDef {
  std::string name;                 // Hugging Face name
  std::vector<std::int64_t> shape;  // at least 1-D
  bool trainable = true;
};

// Rows that a rank owns of a parameter with `rows` rows over `size` ranks: c = ceil(rows / size), rank r owns
// [r * c, min((r + 1) * c, rows)); trailing ranks may own none.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};
std::int64_t rows_per_rank(std::int64_t rows, int size);
RowRange rows_of(std::int64_t rows, int rank, int size);

// Where one parameter lies. A rank's flat shard holds padded = rows_per_rank * row_size elements of each parameter one
// after the other; the flat full buffer holds size * padded elements of each.
struct ParamLayout {
  ParamDef def;
  std::int64_t row_size = 0;      // elements of one row
  std::int64_t padded = 0;        // elements a rank
  std::int64_t shard_offset = 0;  // in the flat shard
  std::int64_t full_offset = 0;   // in the flat full buffer
  // Where it lies when it is gathered: set by ParamGroup, in units of `unit` per element (1, or its bytes).
  std::int64_t unit = 1, wire_offset = 0, full_wire_offset = 0;
  std::int64_t numel() const { return def.shape[0] * row_size; }
};

struct GroupLayout {
  std::vector<ParamLayout> params;
  std::int64_t shard_numel = 0;
  std::int64_t full_numel = 0;  // size * shard_numel
  int size = 1;
};

// Parameters keep their order. Throws std::invalid_argument, naming the parameter, for 0-dim or empty ones.
GroupLayout make_layout(const std::vector<ParamDef>& params, int size);

}  // namespace fx::engine
