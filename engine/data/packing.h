// Packing: which documents share a pack of at most max_seq_len tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/token_file.h"

namespace fx::engine {

// What becomes of a document of more than max_seq_len tokens.
enum class LongDocuments {
  kCut,     // its first max_seq_len tokens are used, and it is counted
  kSplit,   // several pieces, each with attention and positions of its own
  kRefuse,  // an error
};

struct PackingOptions {
  std::int64_t max_seq_len = 1024;
  bool packing = true;     // false: one piece a pack
  std::uint64_t seed = 0;  // which of equally good packings: pieces are shuffled first
  LongDocuments long_documents = LongDocuments::kCut;
};

// Tokens of one document that are computed together: all of them, or as many as fit.
struct Piece {
  std::uint32_t document = 0;
  std::uint64_t begin = 0;
  std::int64_t length = 0;
  bool operator==(const Piece&) const = default;
};

// The ids and labels of a piece. The last label of a piece that goes on is the next piece's first token.
Document tokens_of(const TokenFile& file, const Piece& piece);

// A piece without trained labels is left out, and counted.
struct PackPlan {
  std::vector<std::vector<Piece>> packs;
  std::int64_t max_seq_len = 0;
  std::uint64_t tokens = 0;                   // in all packs
  std::uint64_t truncated = 0;                // documents cut
  std::uint64_t split = 0;                    // documents that became several pieces
  std::uint64_t skipped = 0;                  // pieces left out
  double fill() const;                        // tokens / (packs * max_seq_len)
  std::vector<std::int64_t> lengths() const;  // tokens of each pack
};

// Best-fit decreasing: longest pieces first, each into the fullest pack that still has room. Same file, options and
// build give the same plan on every rank. Errors: kInvalidArgument when nothing is left to train on, or for a document
// that is too long with kRefuse.
Result<PackPlan> pack_documents(const TokenFile& file, const PackingOptions& options);

}  // namespace fx::engine
