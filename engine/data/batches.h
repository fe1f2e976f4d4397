// Which packs make up an optimizer step, and which rank computes them when. Without state: step number in, packs out,
// so resuming needs no more than the step number, and any rank can look up any other's share.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/packing.h"

namespace fx::engine {

struct BatchOptions {
  std::int64_t ranks = 1;
  std::int64_t global_batch_size = 1;      // packs a step, over all ranks
  std::int64_t packs_per_micro_batch = 1;  // packs one rank computes at once
  std::uint64_t seed = 0;                  // order of the packs, a new one each epoch
  // Tokens one rank computes at once, in as many packs as fit: then packs_per_micro_batch says nothing, and a step's
  // packs are dealt out so that ranks and micro-batches have about the same number of tokens. 0: packs are counted.
  std::int64_t max_tokens = 0;
};

// The packs of all epochs, each epoch in its own order, form one stream; step s takes the next global_batch_size of
// them. So a step's packs depend on seed and step only, never on ranks.
class BatchPlan {
 public:
  BatchPlan(std::int64_t packs, BatchOptions options);  // all positive
  // Tokens of each pack; with max_tokens none may be longer.
  BatchPlan(std::vector<std::int64_t> lengths, BatchOptions options);

  // Steps that see every pack `epochs` times; the last may be smaller (see packs_of_step).
  std::int64_t steps_for_epochs(std::int64_t epochs) const;
  // Of the last step of a run of whole epochs: stops at the end of the epoch. 0: the stream never ends.
  void end_after_epochs(std::int64_t epochs) { end_ = epochs * packs_, cached_step_ = -1; }

  // step counts from 0.
  std::vector<std::int64_t> packs_of_step(std::int64_t step) const;
  // The same on every rank, at least 1: as many as the rank needs that needs the most.
  std::int64_t micro_batches(std::int64_t step) const;
  // May be empty: then the rank computes a dummy, so that every rank joins every collective.
  std::vector<std::int64_t> packs_of(std::int64_t step, std::int64_t micro_batch, std::int64_t rank) const;
  std::int64_t epoch_of(std::int64_t step) const { return step * options_.global_batch_size / packs_; }

 private:
  // [micro-batch][rank]: its packs.
  using Shares = std::vector<std::vector<std::vector<std::int64_t>>>;
  std::int64_t pack_at(std::int64_t position) const;
  std::vector<std::int64_t> lengths_of(const std::vector<std::int64_t>& packs) const;
  const Shares& shares_of(std::int64_t step) const;
  bool all_fit() const;
  std::int64_t packs_;
  BatchOptions options_;
  std::vector<std::int64_t> lengths_;  // of each pack; only with max_tokens
  std::int64_t end_ = 0;
  mutable std::int64_t cached_epoch_ = -1;  // one thread a plan
  mutable std::vector<std::int64_t> order_;
  mutable std::int64_t cached_step_ = -1;
  mutable Shares shares_;
};

// What a rank computes at once: documents one after the other, positions begin at 0 in each, attention stays inside
// each.
struct MicroBatch {
  std::vector<std::int64_t> ids;               // [tokens], tokens >= 1
  std::vector<std::int64_t> labels;            // [tokens], kIgnoredLabel where not trained
  std::vector<std::int64_t> positions;         // [tokens]
  std::vector<std::uint64_t> origins;          // [tokens]: document << 32 | place in it
  std::vector<std::int64_t> document_offsets;  // [documents + 1], from 0 to tokens
  std::int64_t trained = 0;                    // labels that count; 0 for a dummy
};

// packs: indices into plan.packs; empty gives a dummy of one ignored token. vocab_size: the model's; an id or label
// outside it is an error that names the document.
Result<MicroBatch> make_micro_batch(const TokenFile& file, const PackPlan& plan, const std::vector<std::int64_t>& packs,
                                    std::int64_t vocab_size);
// Labels that count in these packs: with packs_of_step() the denominator of a step's loss, the same on every rank.
std::int64_t trained_tokens(const TokenFile& file, const PackPlan& plan, const std::vector<std::int64_t>& packs);

}  // namespace fx::engine
