#include "engine/data/batches.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "engine/data/balance.h"
#include "engine/data/shuffle.h"

namespace fx::engine {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

Error bad_id(const TokenFile& file, std::uint32_t document, std::int64_t id, std::int64_t vocab_size) {
  return invalid_argument(file.path().string(),
                          "document " + std::to_string(document) + " holds id " + std::to_string(id) +
                              ", but the model has " + std::to_string(vocab_size) + " tokens",
                          "make the token file with this model's tokenizer");
}

}  // namespace

BatchPlan::BatchPlan(std::int64_t packs, BatchOptions options) : packs_(packs), options_(options) {
  if (packs < 1 || options.ranks < 1 || options.global_batch_size < 1 || options.packs_per_micro_batch < 1 ||
      options.max_tokens < 0) {
    throw std::logic_error("BatchPlan: counts must be positive");
  }
}

BatchPlan::BatchPlan(std::vector<std::int64_t> lengths, BatchOptions options)
    : BatchPlan(static_cast<std::int64_t>(lengths.size()), options) {
  for (const auto length : lengths) {
    if (options.max_tokens > 0 && length > options.max_tokens)
      throw std::logic_error("BatchPlan: a pack is longer than a micro-batch may be");
  }
  lengths_ = std::move(lengths);
}

std::int64_t BatchPlan::steps_for_epochs(std::int64_t epochs) const {
  return divide_up(epochs * packs_, options_.global_batch_size);
}

std::int64_t BatchPlan::pack_at(std::int64_t position) const {
  const std::int64_t epoch = position / packs_;
  if (epoch != cached_epoch_) {
    order_.resize(static_cast<std::size_t>(packs_));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    SplitMix random(options_.seed, static_cast<std::uint64_t>(epoch) + 1);
    shuffle(order_, random);
    cached_epoch_ = epoch;
  }
  return order_[static_cast<std::size_t>(position % packs_)];
}

std::vector<std::int64_t> BatchPlan::packs_of_step(std::int64_t step) const {
  const std::int64_t first = step * options_.global_batch_size;
  std::int64_t last = first + options_.global_batch_size;
  if (end_ > 0) last = std::min(last, end_);
  std::vector<std::int64_t> out;
  for (std::int64_t i = first; i < last; ++i) out.push_back(pack_at(i));
  return out;
}

std::vector<std::int64_t> BatchPlan::lengths_of(const std::vector<std::int64_t>& packs) const {
  std::vector<std::int64_t> out;
  for (const auto pack : packs) out.push_back(lengths_[static_cast<std::size_t>(pack)]);
  return out;
}

// Every rank works out the shares of all: the number of micro-batches is agreed on without a word.
const BatchPlan::Shares& BatchPlan::shares_of(std::int64_t step) const {
  if (step == cached_step_) return shares_;
  const auto packs = packs_of_step(step);
  std::vector<std::vector<std::int64_t>> ranks;
  std::int64_t count = 1;
  for (const auto& members : balance(lengths_of(packs), static_cast<std::size_t>(options_.ranks))) {
    auto& share = ranks.emplace_back();
    for (const auto i : members) share.push_back(packs[i]);
    count = std::max(count, divide_up(sum(lengths_of(share)), options_.max_tokens));
  }
  // Rarely one more than the sums ask for; with as many micro-batches as packs each is alone and fits.
  do {
    shares_.assign(static_cast<std::size_t>(count), {});
    for (const auto& share : ranks) {
      const auto lengths = lengths_of(share);
      const auto parts = balance(lengths, static_cast<std::size_t>(count));
      for (std::size_t m = 0; m < parts.size(); ++m) {
        auto& mine = shares_[m].emplace_back();
        for (const auto i : parts[m]) mine.push_back(share[i]);
      }
    }
    ++count;
  } while (!all_fit());
  cached_step_ = step;
  return shares_;
}

bool BatchPlan::all_fit() const {
  for (const auto& micro_batch : shares_) {
    for (const auto& share : micro_batch) {
      if (sum(lengths_of(share)) > options_.max_tokens) return false;
    }
  }
  return true;
}

std::int64_t BatchPlan::micro_batches(std::int64_t step) const {
  if (options_.max_tokens > 0) return static_cast<std::int64_t>(shares_of(step).size());
  const auto packs = static_cast<std::int64_t>(packs_of_step(step).size());
  return std::max<std::int64_t>(1, divide_up(packs, options_.ranks * options_.packs_per_micro_batch));
}

std::vector<std::int64_t> BatchPlan::packs_of(std::int64_t step, std::int64_t micro_batch, std::int64_t rank) const {
  if (options_.max_tokens > 0) {
    return shares_of(step)[static_cast<std::size_t>(micro_batch)][static_cast<std::size_t>(rank)];
  }
  const auto packs = packs_of_step(step);
  const auto count = static_cast<std::int64_t>(packs.size());
  const std::int64_t first = micro_batch * options_.ranks * options_.packs_per_micro_batch;
  const std::int64_t last = std::min(count, first + options_.ranks * options_.packs_per_micro_batch);
  std::vector<std::int64_t> out;
  // Dealt out like cards, so that in a last, smaller micro-batch no rank has two packs more than another.
  for (std::int64_t i = first + rank; i < last; i += options_.ranks) out.push_back(packs[static_cast<std::size_t>(i)]);
  return out;
}

Result<MicroBatch> make_micro_batch(const TokenFile& file, const PackPlan& plan, const std::vector<std::int64_t>& packs,
                                    std::int64_t vocab_size) {
  MicroBatch out;
  out.document_offsets.push_back(0);
  for (const auto pack : packs) {
    for (const Piece& piece : plan.packs.at(static_cast<std::size_t>(pack))) {
      const Document tokens = tokens_of(file, piece);
      for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
        const std::int64_t id = tokens.ids[i], label = tokens.labels[i];
        if (id >= vocab_size) return bad_id(file, piece.document, id, vocab_size);
        if (label != kIgnoredLabel && (label < 0 || label >= vocab_size))
          return bad_id(file, piece.document, label, vocab_size);
        out.ids.push_back(id);
        out.labels.push_back(label);
        out.positions.push_back(static_cast<std::int64_t>(i));
        out.origins.push_back(std::uint64_t{piece.document} << 32 | (piece.begin + i));
        out.trained += label != kIgnoredLabel ? 1 : 0;
      }
      out.document_offsets.push_back(static_cast<std::int64_t>(out.ids.size()));
    }
  }
  if (out.ids.empty()) {
    out.ids = {0}, out.labels = {kIgnoredLabel}, out.positions = {0}, out.origins = {0};
    out.document_offsets.push_back(1);
  }
  return out;
}

std::int64_t trained_tokens(const TokenFile& file, const PackPlan& plan, const std::vector<std::int64_t>& packs) {
  std::int64_t count = 0;
  for (const auto pack : packs) {
    for (const Piece& piece : plan.packs.at(static_cast<std::size_t>(pack))) {
      const auto labels = tokens_of(file, piece).labels;
      count += std::count_if(labels.begin(), labels.end(), [](std::int32_t label) { return label != kIgnoredLabel; });
    }
  }
  return count;
}

}  // namespace fx::engine
