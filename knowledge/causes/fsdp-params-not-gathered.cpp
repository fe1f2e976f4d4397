#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/state_dict_errors.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// "(2048x4096 and 1x16777216)", "(8x64 and 0x64)": the second operand is flat or empty, as a sharded weight is.
bool flat_operand(std::string_view low) {
  const auto at = low.find("shapes cannot be multiplied (");
  const auto second = at == std::string_view::npos ? at : low.find("and ", at);
  if (second == std::string_view::npos) return false;
  const auto sizes = integers_in(low.substr(second, 40));
  return sizes.size() >= 2 &&
         (sizes[0] * sizes[1] == 0 || (std::min(sizes[0], sizes[1]) == 1 && std::max(sizes[0], sizes[1]) >= 65536));
}

// A whole file is loaded into a model of which this rank holds no more than its shards.
Claim loaded_into_shards(const Scene& s) {
  Claim out;
  const auto rows = read_size_mismatches(s.book);
  const auto unheld = std::count_if(rows.begin(), rows.end(), [](const SizeMismatch& row) { return row.unheld(); });
  const bool empty_file = std::any_of(rows.begin(), rows.end(), [](const SizeMismatch& row) { return row.empty(); });
  if (unheld == 0 || empty_file) return out;
  out.score = 0.9;
  for (const auto& row : rows) {
    if (row.unheld() && out.lines.size() < 4) out.show(row.line);
  }
  return out;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  if (m("recompute")) return {};
  Claim out = loaded_into_shards(s);
  if (out.score > 0) return out;
  if (m("shape")) {
    std::vector<int> errors;
    bool sharded = false;  // words or sizes that only a parameter in shards gives
    for (const int line : m("shape").lines) {
      const auto& low = s.book.at(line).low;
      if (!matches_any("error|exception|assert", low)) continue;
      if (low.find("cannot be multiplied") != std::string::npos && !flat_operand(low)) continue;
      sharded = sharded || flat_operand(low) ||
                matches_any(
                    "tensor a (0)|tensor b (0)|must be 2-d|not allocated yet|storage of size 0|weight of size "
                    "[0]|handletrainingstate|handle training|expected to be in states",
                    low);
      errors.push_back(line);
    }
    if (errors.empty()) return out;
    out.score = m("bypass") ? 0.92 : sharded ? 0.88 : m("fsdp") ? 0.75 : 0.55;
    for (const int line : errors) {
      if (out.lines.size() < 3) out.show(line);
    }
  } else if (m("mixed") && m("bypass")) {
    out.score = 0.6;
    out.show(m("mixed"), 2);
  }
  if (out.score == 0) return out;
  for (const int line : m("bypass").telling) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule fsdp_params_not_gathered() {
  return {
      "fsdp-params-not-gathered",
      {{"shape",
        "size of tensor a (0)|size of tensor b (0)|weight' must be 2-d|weight must be 2-d|must be 2-d|mat2 must be a matrix"
        "|should be a matrix|mat1 and mat2 shapes cannot be multiplied*x0"
        "|size mismatch, got input|vec (|is invalid for input of size 0|data is not allocated yet"
        "|storage of size 0|setstorage|but got 1-d|got 1-d tensor|1d tensors expected|1d target"
        "|inconsistent tensor size|weight of size [0]|shapes cannot be multiplied*and 0"
        "|cannot be multiplied|handle training|handletrainingstate|expected to be in states|training state*idle|fsdp*expects*unsharded"
        "|has been resharded|non-empty*weight|weight should have at least"
        "|same number of dimensions*weight|invalid for input of size"},
       {"bypass",
        ".generate(|generate|encode(|.module.|get_input_embeddings|callback|summon|embed_tokens"
        "|encode_|forward_features|.backbone|.lm_head|get_text_features|submodule"
        "|without going through"},
       {"fsdp", "fsdp|fully_shard|fullysharded|zero3|zero stage 3|shard"},
       {"recompute", "recomputed|checkpointerror"},
       {"mixed", "mixed torch.tensor and dtensor"}},
      evaluate};
}

}  // namespace fx::knowledge
