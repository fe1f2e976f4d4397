#include "base/text.h"
#include "knowledge/causes/cause.h"
#include "knowledge/log/field_reader.h"
#include "knowledge/log/xid_events.h"

namespace fx::knowledge {
namespace {

// A count or an answer that is nought: "Pending : No", "SRAM Uncorrectable : 0", "Volatile Uncorr. ECC" above a table.
bool healthy_value(std::string_view low) {
  if (matches_any("volatile uncorr. ecc|gpu-util|mig m.", low)) return true;
  // "Uncorrectable 0, correctable 3"
  const auto counted = low.find("uncorr");
  const auto number = counted == std::string_view::npos ? counted : low.find_first_of("0123456789", counted);
  if (number != std::string_view::npos && number < counted + 24 && integer_after(low.substr(number), "") == 0)
    return true;
  const auto sign = low.find_last_of(":=|");
  if (sign == std::string_view::npos) return false;
  const std::string_view value = trim(low.substr(sign + 1));
  for (const std::string_view none : {"0", "no", "n/a", "none", "off", "disabled", "false", "0 errors", "[n/a]"}) {
    if (value == none) return true;
  }
  return false;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const auto xids = xid_lines(s.book, {48, 63, 64, 92, 94, 95});
  Claim out;
  std::vector<int> signs;
  for (const int line : m("ecc").lines) {
    const auto& low = s.book.at(line).low;
    // A monitoring table that reads zero is health, not a fault.
    if (matches_any(
            "ecc errors: 0|ecc errors=0|ecc: 0|no ecc|0 ecc|ecc*none|uncorr*: 0|uncorrect*: 0|uncorrect*0 errors|pending: no|pending*: no",
            low))
      continue;
    if (matches_any("$ ", low) || healthy_value(low)) continue;
    signs.push_back(line);
  }
  if (xids.empty() && signs.empty()) return out;
  out.score = 0.95;
  for (std::size_t i = 0; i < xids.size() && i < 3; ++i) out.show(xids[i]);
  for (std::size_t i = 0; i < signs.size() && i < 3; ++i) out.show(signs[i]);
  // Rows "index, count" below the query.
  for (const int line : m("query").lines) {
    for (int row = s.book.below(line), n = 0; row >= 0 && n < 16; row = s.book.below(row), ++n) {
      const auto numbers = integers_in(s.book.at(row).low);
      if (numbers.size() < 2) break;
      if (numbers.back() > 0) out.show(row);
    }
  }
  return out.root(s.one_rank(signs));
}

}  // namespace

CauseRule gpu_ecc_uncorrectable() {
  return {"gpu-ecc-uncorrectable",
          {{"ecc",
            "uncorrectable ecc|double bit ecc|double-bit|ecc error|uncorrectable memory error"
            "|uncorrectable error|row remap*fail|row remapper|remapping*pending|uncontained"
            "|contained ecc|sram*uncorrect|hbm*uncorrect|volatile uncorr"},
           {"query", "ecc.errors|--query-gpu=*ecc|retired_pages|remapped_rows"}},
          evaluate};
}

}  // namespace fx::knowledge
