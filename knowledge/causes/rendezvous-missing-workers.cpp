#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  std::vector<int> short_of;
  for (const int line : m("counted").lines) {
    const auto& low = s.book.at(line).low;
    const auto joined = integer_after(low, "worker_count=");
    const auto world = integer_after(low, "world_size=");
    const auto awaited = integer_after(low, "waiting for");
    bool fewer = joined && world && *joined < *world;
    fewer = fewer || (awaited && *awaited > 0 && matches_any("waiting for * more", low));
    if (!joined) {
      // "3/4 clients joined", "joined 3 of 4", "3 out of 4": two numbers, the smaller one first.
      const std::string_view body = s.book.at(line).low_body();
      const auto at = body.find("join");
      const auto start = at == std::string_view::npos ? 0 : at > 40 ? at - 40 : 0;
      const auto numbers = integers_in(body.substr(std::min(start, body.size()), 90));
      for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
        const bool paired = matches_any(std::to_string(numbers[i]) + "/" + std::to_string(numbers[i + 1]) + "|" +
                                            std::to_string(numbers[i]) + "*of*" + std::to_string(numbers[i + 1]),
                                        body);
        fewer = fewer || (paired && numbers[i] < numbers[i + 1]);
      }
    }
    if (fewer) short_of.push_back(line);
  }
  if (!short_of.empty()) {
    // The error itself, the last count and the first one.
    out.score = 0.94;
    const auto error = std::find_if(short_of.begin(), short_of.end(),
                                    [&](int line) { return matches_any("error|timed out", s.book.at(line).low); });
    out.show(error == short_of.end() ? -1 : *error).show(short_of.back()).show(short_of.front());
    if (short_of.size() > 2) out.show(short_of[short_of.size() / 2]);
  }
  if (out.score == 0 && m("timeout") && !m("counted")) out = claim(0.6, m("timeout"), 3);
  // Who cannot look the master up never comes: the name is the cause, the count its effect.
  if (m("unresolved")) out.score = std::min(out.score, 0.8);
  // The group between a trainer and its inference engines is no start-up.
  if (m("update_group") && out.score > 0) out.score = 0.4;
  if (out.score > 0) out.show(m("timeout"), 2).show(m("launch"), 2);
  return out;
}

}  // namespace

CauseRule rendezvous_missing_workers() {
  return {"rendezvous-missing-workers",
          {{"counted",
            "clients joined|worker_count=|workers joined|nodes joined|joined*out of|joined * of"
            "|of*workers*connected|participants|of*ranks joined|agents joined"
            "|still waiting for*worker|waiting for*more nodes|nodes have joined|ranks have joined"
            "|of*nodes*ready|waiting nodes "},
           {"timeout",
            "rendezvoustimeouterror|rendezvous*timed out|waiting for clients|store based barrier"
            "|store_based_barrier|exceeded the*join timeout|rendezvousclosederror"
            "|rendezvous has timed out|join timeout|timeout*to complete rendezvous"},
           {"unresolved", "cannot be retrieved*name or service|name or service not known|failure in name resolution"},
           {"update_group",
            "update_group|update_weight|weight_update|weights_update|init_weight|weight transfer|weight sync"},
           {"launch", "nnodes|node_rank|node rank|nodes=|world_size|--nodes"}},
          evaluate};
}

}  // namespace fx::knowledge
