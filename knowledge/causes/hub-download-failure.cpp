#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"

namespace fx::knowledge {
namespace {

// What was retried came in the end.
bool fetched_after(const Scene& s, int line) {
  const auto came = s.book.lines_matching("fetching*100%|shards: 100%|download complete|downloaded|succeeded", 16);
  return !came.empty() && came.back() > line;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  std::vector<int> signs;
  for (const int line : m("hub").lines) {
    const auto& low = s.book.at(line).low;
    const bool failed = matches_any(
        "could not connect|max retries|doesn't exist|cannot be accessed|not a valid model identifier|failed to resolve|connectionerror|timed out|readtimeout|name resolution|client error|server "
        "error|incompleteread|sslerror"
        "|proxyerror|couldn't connect|cannot reach|connection aborted|too many requests|unauthorized|forbidden|not "
        "found|gated|notfound"
        "|offline|connecttimeout|remotedisconnected|httperror|connection reset|rate limit",
        low);
    const bool retry_ok = matches_any(
        "futurewarning|using the default|using default|falling back|fallback|using cached|warning*retry|deprecat|docs|see https|file \"|pushing|push_to_hub",
        low);
    // Offline by choice.
    if (matches_any("offline=1|offline=true|offline: true|offline mode", low) && !refuses(low)) continue;
    if (failed && (!retry_ok || matches_any("error:", low))) signs.push_back(line);
  }
  Claim out;
  if (signs.empty()) return out;
  std::stable_sort(signs.begin(), signs.end(),
                   [&](int a, int b) { return s.exception_at(a) != nullptr && s.exception_at(b) == nullptr; });
  const bool raised = std::any_of(signs.begin(), signs.end(), [&](int line) {
    return s.exception_at(line) != nullptr || matches_any("error", s.book.at(line).low);
  });
  // Something that trains after the complaint was not stopped by it.
  const bool stepped_after = std::any_of(s.steps.begin(), s.steps.end(), [&](const StepEvent& step) {
    return step.line > *std::max_element(signs.begin(), signs.end());
  });
  out.score = raised ? 0.94 : 0.6;
  if (stepped_after) out.score = 0.3;
  if (!raised && fetched_after(s, signs.back())) out.score = 0.2;
  for (const int line : signs) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.root(s.one_rank(signs));
}

}  // namespace

CauseRule hub_download_failure() {
  return {
      "hub-download-failure",
      {{"hub",
        "huggingface.co|on the hub|datasetnotfound|not a valid model identifier|huggingface_hub|hf.co|hf_hub|hf-mirror|modelscope|we couldn't connect to"
        "|couldn't connect to|localentrynotfound|repository not found|repositorynotfound"
        "|gatedrepo|gated repo|cannot access gated|hfhubhttperror|offlinemode|wandb.errors"
        "|wandb: error|api.wandb|s3.*amazonaws|s3.amazonaws|blob.core.windows|could not connect to the endpoint|storage.googleapis|kaggle|openaipublic|github.com"
        "|pypi"},
       {"failure",
        "max retries exceeded|failed to resolve|connectionerror|read timed out|readtimeout"
        "|name resolution|401 client error|403 client error|404 client error|429 client error|502"
        "|503|504|incompleteread|sslerror|ssl:|proxyerror|couldn't connect|cannot reach"
        "|connection aborted|timed out|too many requests|unauthorized|forbidden|not found|gated"
        "|offline|connectiontimeout|remotedisconnected|checksum|newconnectionerror|rate limit"}},
      evaluate};
}

}  // namespace fx::knowledge
