#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("stale")) return {};
  Claim out = claim(0.95, m("stale"), 3);
  out.show(m("place"), 1);
  return out.root(s.one_rank(m("stale").lines));
}

}  // namespace

CauseRule stale_file_handle() {
  return {"stale-file-handle",
          {{"stale", "stale file handle|errno 116|estale|stale nfs"},
           {"place", "/nfs|/mnt|/lustre|cache|hf_home|modelscope_cache|hf_datasets_cache"}},
          evaluate};
}

}  // namespace fx::knowledge
