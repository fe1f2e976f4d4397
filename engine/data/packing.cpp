#include "engine/data/packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "engine/data/shuffle.h"

namespace fx::engine {
namespace {

bool has_trained_label(const Document& document, std::size_t length) {
  const auto labels = document.labels.first(std::min(length, document.labels.size()));
  return std::any_of(labels.begin(), labels.end(), [](std::int32_t label) { return label != kIgnoredLabel; });
}

// Documents in the order of packing: longest first, equal ones in an order of the seed's choosing.
std::vector<std::uint32_t> packing_order(const TokenFile& file, const PackingOptions& options, PackPlan& plan) {
  std::vector<std::uint32_t> order;
  const auto limit = static_cast<std::uint64_t>(options.max_seq_len);
  for (std::uint32_t i = 0; i < file.info().documents; ++i) {
    if (!has_trained_label(file.document(i), limit)) {
      ++plan.skipped;
      continue;
    }
    plan.truncated += file.length(i) > limit ? 1 : 0;
    plan.tokens += std::min(file.length(i), limit);
    order.push_back(i);
  }
  SplitMix random(options.seed);
  shuffle(order, random);
  if (options.packing) {
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::min(file.length(a), limit) > std::min(file.length(b), limit);
    });
  }
  return order;
}

}  // namespace

double PackPlan::fill() const {
  return packs.empty()
             ? 0
             : static_cast<double>(tokens) / (static_cast<double>(packs.size()) * static_cast<double>(max_seq_len));
}

Result<PackPlan> pack_documents(const TokenFile& file, const PackingOptions& options) {
  PackPlan plan;
  plan.max_seq_len = options.max_seq_len;
  const auto limit = static_cast<std::uint64_t>(options.max_seq_len);
  std::set<std::pair<std::uint64_t, std::size_t>> open;  // room left, pack
  for (const auto document : packing_order(file, options, plan)) {
    const std::uint64_t length = std::min(file.length(document), limit);
    const auto fullest = options.packing ? open.lower_bound({length, 0}) : open.end();
    std::size_t pack = plan.packs.size();
    std::uint64_t room = limit;
    if (fullest == open.end()) {
      plan.packs.emplace_back();
    } else {
      std::tie(room, pack) = *fullest;
      open.erase(fullest);
    }
    plan.packs[pack].push_back(document);
    if (room > length) open.insert({room - length, pack});
  }
  if (plan.packs.empty()) {
    return invalid_argument(
        file.path().string(),
        "no document has anything to train on within " + std::to_string(options.max_seq_len) + " tokens",
        "check the data, or raise data.max_seq_len");
  }
  return plan;
}

}  // namespace fx::engine
