#include "knowledge/causes/cause.h"
#include "knowledge/causes/state_dict_errors.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const NameMismatch names = read_name_mismatch(s.book);
  Claim out;
  if (!m("load")) return out;
  if (names.same_without_wrappers) {
    out.score = 0.95;
  } else if (m("prefix") && !names.lines.empty() &&
             s.book.mentions("key*_orig_mod|key*_fsdp_wrapped_module|key*_checkpoint_wrapped|unexpected*\"module.|"
                             "keyerror: 'module.|missing*\"module.|missing key*module.|key*'_orig_mod")) {
    out.score = 0.86;
  } else {
    return out;
  }
  for (const int line : names.lines) {
    if (out.lines.size() < 5) out.show(line);
  }
  for (const int line : m("prefix").lines) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule state_dict_prefix_mismatch() {
  return {"state-dict-prefix-mismatch",
          {{"load", "error(s) in loading state_dict|load_state_dict|missing key|unexpected key|keyerror"},
           {"prefix",
            "_orig_mod.|_fsdp_wrapped_module.|_checkpoint_wrapped_module.|module.|strip*prefix"
            "|_forward_module."}},
          evaluate};
}

}  // namespace fx::knowledge
