#include "engine/data/packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "engine/data/shuffle.h"

namespace fx::engine {
namespace {

bool has_trained_label(const Document& document) {
  return std::any_of(document.labels.begin(), document.labels.end(),
                     [](std::int32_t label) { return label != kIgnoredLabel; });
}

Error too_long(const TokenFile& file, std::uint32_t document, std::int64_t limit) {
  return invalid_argument(file.path().string(),
                          "document " + std::to_string(document) + " has " + std::to_string(file.length(document)) +
                              " tokens, more than data.max_seq_len (" + std::to_string(limit) + ")",
                          "raise data.max_seq_len, or let data.long_documents be split or cut");
}

// The pieces of all documents that have something to train on, in file order.
Result<std::vector<Piece>> cut_documents(const TokenFile& file, const PackingOptions& options, PackPlan& plan) {
  std::vector<Piece> pieces;
  const auto limit = static_cast<std::uint64_t>(options.max_seq_len);
  for (std::uint32_t i = 0; i < file.info().documents; ++i) {
    const std::uint64_t length = file.length(i);
    const bool is_long = length > limit;
    if (is_long && options.long_documents == LongDocuments::kRefuse) return too_long(file, i, options.max_seq_len);
    const bool splits = is_long && options.long_documents == LongDocuments::kSplit;
    const std::uint64_t end = splits ? length : std::min(length, limit);
    bool used = false;
    for (std::uint64_t begin = 0; begin < end; begin += limit) {
      const Piece piece{i, begin, static_cast<std::int64_t>(std::min(limit, end - begin))};
      if (!has_trained_label(tokens_of(file, piece))) {
        ++plan.skipped;
        continue;
      }
      used = true;
      plan.tokens += static_cast<std::uint64_t>(piece.length);
      pieces.push_back(piece);
    }
    plan.split += used && splits ? 1 : 0;
    plan.truncated += used && is_long && !splits ? 1 : 0;
  }
  return pieces;
}

}  // namespace

Document tokens_of(const TokenFile& file, const Piece& piece) {
  const Document whole = file.document(piece.document);
  const auto length = static_cast<std::size_t>(piece.length);
  return {whole.ids.subspan(piece.begin, length), whole.labels.subspan(piece.begin, length)};
}

double PackPlan::fill() const {
  return packs.empty()
             ? 0
             : static_cast<double>(tokens) / (static_cast<double>(packs.size()) * static_cast<double>(max_seq_len));
}

std::vector<std::int64_t> PackPlan::lengths() const {
  std::vector<std::int64_t> out;
  for (const auto& pack : packs) {
    out.push_back(std::accumulate(pack.begin(), pack.end(), std::int64_t{0},
                                  [](std::int64_t sum, const Piece& piece) { return sum + piece.length; }));
  }
  return out;
}

Result<PackPlan> pack_documents(const TokenFile& file, const PackingOptions& options) {
  PackPlan plan;
  plan.max_seq_len = options.max_seq_len;
  auto pieces = cut_documents(file, options, plan);
  if (!pieces) return pieces.error();
  SplitMix random(options.seed);
  shuffle(*pieces, random);
  if (options.packing) {
    std::stable_sort(pieces->begin(), pieces->end(),
                     [](const Piece& a, const Piece& b) { return a.length > b.length; });
  }
  std::set<std::pair<std::int64_t, std::size_t>> open;  // room left, pack
  for (const Piece& piece : *pieces) {
    const auto fullest = options.packing ? open.lower_bound({piece.length, 0}) : open.end();
    std::size_t pack = plan.packs.size();
    std::int64_t room = options.max_seq_len;
    if (fullest == open.end()) {
      plan.packs.emplace_back();
    } else {
      std::tie(room, pack) = *fullest;
      open.erase(fullest);
    }
    plan.packs[pack].push_back(piece);
    if (room > piece.length) open.insert({room - piece.length, pack});
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
