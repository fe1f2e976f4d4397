#include "knowledge/causes/cause.h"
#include "knowledge/causes/state_dict_errors.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const NameMismatch names = read_name_mismatch(s.book);
  Claim out;
  if (!m("load")) return out;
  // Parameters that only exist under a wrapper's name, in a list of keys that found no place.
  std::vector<int> wrapped;
  for (const int line : m("listed").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any(
            "unexpected key*\"*orig_mod.|unexpected key*\"*fsdp_wrapped|unexpected key*\"module.|unexpected "
            "key*\"*checkpoint_wrapped|unexpected key*\"*forward_module.|were not used*_orig_mod.|were not "
            "used*_fsdp_wrapped|were not used*'module.|were not used*checkpoint_wrapped|missing*key*orig_mod.|missing "
            "key*_checkpoint_wrapped|missing key*_fsdp_wrapped|missing key*\"module.|keyerror: '*_orig_mod.|keyerror: 'module.|keyerror: '*_fsdp_wrapped_module|missing key*_orig_mod.",
            low))
      wrapped.push_back(line);
    // A list below the sentence.
    if (low.back() != ':') continue;
    for (int next = s.book.below(line), count = 0; next >= 0 && count < 8; next = s.book.below(next), ++count) {
      if (matches_any("_orig_mod.|_fsdp_wrapped_module|_checkpoint_wrapped|_forward_module.|module.*.weight",
                      s.book.at(next).low))
        wrapped.insert(wrapped.end(), {next, line});
    }
  }
  if (names.same_without_wrappers) {
    out.score = 0.95;
  } else if (m("prefix") && !names.lines.empty() &&
             s.book.mentions("key*_orig_mod|key*_fsdp_wrapped_module|key*_checkpoint_wrapped|unexpected*\"module.|"
                             "keyerror: 'module.|missing*\"module.|missing key*module.|key*'_orig_mod")) {
    out.score = 0.86;
  } else if (!wrapped.empty()) {
    out.score = 0.93;
  } else {
    return out;
  }
  for (const int line : wrapped) {
    if (out.lines.size() < 4) out.show(line);
  }
  for (const int line : names.lines) {
    if (out.lines.size() < 5) out.show(line);
  }
  for (const int line : m("prefix").telling) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule state_dict_prefix_mismatch() {
  return {
      "state-dict-prefix-mismatch",
      {{"listed",
        "not used by the model|not found in the checkpoint|keyerror: '|unexpected key|missing key|were not used|not used when initializing"},
       {"load",
        "not used by the model|not found in the checkpoint|were not used when initializing|error(s) in loading state_dict|load_state_dict|missing key|unexpected key|keyerror"},
       {"prefix",
        "_orig_mod.|_fsdp_wrapped_module.|_checkpoint_wrapped_module.|module.|strip*prefix"
        "|_forward_module."}},
      evaluate};
}

}  // namespace fx::knowledge
