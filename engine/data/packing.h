// Packing: which documents share a pack of at most max_seq_len tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/token_file.h"

namespace fx::engine {

struct PackingOptions {
  std::int64_t max_seq_len = 1024;
  bool packing = true;     // false: one document a pack
  std::uint64_t seed = 0;  // which of equally good packings: documents are shuffled first
};

// A document longer than max_seq_len is cut to its first max_seq_len tokens, and counted. (The tokenizing step normally
// has cut or split it already.) A document without trained labels is left out, and counted. Nothing is ever split.
struct PackPlan {
  std::vector<std::vector<std::uint32_t>> packs;  // document indices
  std::int64_t max_seq_len = 0;
  std::uint64_t tokens = 0;     // in all packs
  std::uint64_t truncated = 0;  // documents cut
  std::uint64_t skipped = 0;    // documents left out
  double fill() const;          // tokens / (packs * max_seq_len)
};

// Best-fit decreasing: longest documents first, each into the fullest pack that still has room. Same file, options and
// build give the same plan on every rank. Errors: kInvalidArgument when nothing is left to train on.
Result<PackPlan> pack_documents(const TokenFile& file, const PackingOptions& options);

}  // namespace fx::engine
