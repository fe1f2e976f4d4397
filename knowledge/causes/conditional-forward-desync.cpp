#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const Stall stall = find_stall(s);
  Claim out;
  const bool differing = !s.desync.differing.empty();
  if (!stall.any && !m("fingerprint")) return out;
  if (m("without") && differing) {
    out.score = 0.93;
  } else if (m("without") && (stall.any || m("fingerprint"))) {
    out.score = 0.84;
  } else if (m("fingerprint") || differing) {
    out.score = stall.guards.empty() && stall.savers.empty() ? 0.72 : 0.4;
    if (m("with")) out.score += 0.08;
    // The flight recorder's own verdict, of all ranks.
    if (s.book.mentions("size_or_syntax_mismatch|collective_type_mismatch")) out.score = std::max(out.score, 0.88);
  }
  // Each rank names the experts that it used, and they are not the same.
  const auto sets = differing_counts(s.book, m("sets").lines);
  if (stall.any && !sets.lines.empty()) out.score = std::max(out.score, 0.84);
  if (out.score == 0) return out;
  for (std::size_t i = 0; i < sets.lines.size() && i < 3; ++i) out.show(sets.lines[i]);
  // What a rank says of itself comes first.
  for (const bool named : {true, false}) {
    for (const int line : m("without").lines) {
      if ((s.book.at(line).rank >= 0) == named && out.lines.size() < 3) out.show(line);
    }
  }
  out.show(m("fingerprint"), 2);
  for (const int line : s.desync.lines) {
    if (out.lines.size() < 7) out.show(line);
  }
  if (const auto split = differing_counts(s.book, m("without").lines); split.odd.size() == 1)
    return out.root(*split.odd.begin());
  const auto ranks = s.book.ranks_of(m("without").lines);
  if (ranks.size() == 1) return out.root(*ranks.begin());
  if (ranks.size() > 1) return out;
  const int suspect = s.desync.suspect();
  return out.root(suspect >= 0 ? std::optional<int>(suspect) : std::nullopt);
}

}  // namespace

CauseRule conditional_forward_desync() {
  return {
      "conditional-forward-desync",
      {{"fingerprint",
        "size_or_syntax_mismatch|collective_type_mismatch|is all-gathering*parameters*while rank|is running collective: collectivefingerprint|detected mismatch between collectives"
        "|collectives differ in the following|mismatched collectives|mismatch between collectives"},
       {"without",
        "no image|text-only|text only|without image|has no image|multimodal*=none"
        "|pixel_values=none|no pixel_values|no audio|no video|no tokens|zero tokens|: 0 tokens|_0 tokens"
        "|expert*received 0|skipping*projection|skipping*tower|skip*vision|skipping vision"
        "|not routed|no expert|dummy|branch*not taken|tokens=0|images=0|num_images: 0"
        "|num_images=0|empty expert|only text|not called|never called|no token for|branch not|skips the|without the"
        "|tokens per expert*, 0,|tokens per expert*, 0]|tokens per expert*[0,|tokens_per_expert*, 0,|tokens_per_expert*, 0]|tokens_per_expert*[0,|skipping optimizer.step|skipping the optimizer step|experts used|tower unused|encoder unused|text, text"},
       {"sets", "experts hit|experts active|active experts|experts touched|routed to experts|modules used"},
       {"with", "pixel_values|vision|image|model.visual|expert|modality|audio|router|tower"}},
      evaluate};
}

}  // namespace fx::knowledge
