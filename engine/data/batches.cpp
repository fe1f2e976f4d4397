#include "engine/data/batches.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "engine/data/shuffle.h"

namespace fx::engine {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

Error bad_id(const TokenFile& file, std::uint32_t document, std::int64_t id, std::int64_t vocab_size) {
  return invalid_argument(file.path().string(),
                          "document " + std::to_string(document) + " holds id " + std::to_string(id) +
                              ", but the model has " + std::to_string(vocab_size) + " tokens",
                          "make the token file with this model's tokenizer");
}

}  // namespace

BatchPlan::BatchPlan(std::int64_t packs, BatchOptions options) : packs_(packs), options_(options) {
  if (packs < 1 || options.ranks < 1 || options.global_batch_size < 1 || options.packs_per_micro_batch < 1) {
    throw std::logic_error("BatchPlan: counts must be positive");
  }
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

std::int64_t BatchPlan::micro_batches(std::int64_t step) const {
  const auto packs = static_cast<std::int64_t>(packs_of_step(step).size());
  return std::max<std::int64_t>(1, divide_up(packs, options_.ranks * options_.packs_per_micro_batch));
}

std::vector<std::int64_t> BatchPlan::packs_of(std::int64_t step, std::int64_t micro_batch, std::int64_t rank) const {
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
  const auto limit = static_cast<std::size_t>(plan.max_seq_len);
  for (const auto pack : packs) {
    for (const auto index : plan.packs.at(static_cast<std::size_t>(pack))) {
      const Document document = file.document(index);
      const std::size_t length = std::min(document.ids.size(), limit);
      for (std::size_t i = 0; i < length; ++i) {
        const std::int64_t id = document.ids[i], label = document.labels[i];
        if (id >= vocab_size) return bad_id(file, index, id, vocab_size);
        if (label != kIgnoredLabel && (label < 0 || label >= vocab_size)) return bad_id(file, index, label, vocab_size);
        out.ids.push_back(id);
        out.labels.push_back(label);
        out.positions.push_back(static_cast<std::int64_t>(i));
        out.trained += label != kIgnoredLabel ? 1 : 0;
      }
      out.document_offsets.push_back(static_cast<std::int64_t>(out.ids.size()));
    }
  }
  if (out.ids.empty()) {
    out.ids = {0}, out.labels = {kIgnoredLabel}, out.positions = {0};
    out.document_offsets.push_back(1);
  }
  return out;
}

std::int64_t trained_tokens(const TokenFile& file, const PackPlan& plan, const std::vector<std::int64_t>& packs) {
  std::int64_t count = 0;
  for (const auto pack : packs) {
    for (const auto index : plan.packs.at(static_cast<std::size_t>(pack))) {
      const auto labels = file.document(index).labels;
      const auto used = labels.first(std::min(labels.size(), static_cast<std::size_t>(plan.max_seq_len)));
      count += std::count_if(used.begin(), used.end(), [](std::int32_t label) { return label != kIgnoredLabel; });
    }
  }
  return count;
}

}  // namespace fx::engine
