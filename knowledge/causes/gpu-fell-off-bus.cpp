#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/log/field_reader.h"
#include "knowledge/log/xid_events.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const auto xid79 = xid_lines(s.book, {79});
  Claim out;
  if (m("lost") || !xid79.empty()) out.score = 0.95;
  for (std::size_t i = 0; i < xid79.size() && i < 2; ++i) out.show(xid79[i]);
  out.show(m("lost"), 3);
  for (const int line : m("list").lines) {
    const int count_line = s.book.below(line);
    if (count_line < 0) continue;
    const auto count = integer_after(s.book.at(count_line).low, "");
    const bool counts = matches_any("wc -l", s.book.at(line).low);
    if (!counts || !count || s.world < 0 || *count >= std::min(s.world, 8)) continue;
    // Fewer devices than ranks, though nothing hides them.
    if (out.score == 0 && m("broken") && !s.book.mentions("cuda_visible_devices=")) out.score = 0.8;
    if (out.score > 0) out.show(count_line);
  }
  if (out.score == 0) return out;
  std::vector<int> failed;
  for (const int line : m("broken").lines) {
    if (s.book.at(line).rank >= 0) failed.push_back(line);
  }
  return out.root(s.one_rank(without_echoes(s, failed)));
}

}  // namespace

CauseRule gpu_fell_off_bus() {
  return {"gpu-fell-off-bus",
          {{"lost",
            "fallen off the bus|rev ff|gpu is lost|unable to determine the device handle"
            "|no devices were found|probe routine failed|gpu not responding|gpu is not responding|gpu has disappeared"
            "|gpu*disappeared|rminitadapter failed|gpu_is_lost|device*is lost|gpu lost"},
           {"list", "nvidia-smi -l"},
           {"broken",
            "invalid device ordinal|unspecified launch failure|cuda error|no cuda-capable device"
            "|cudagetdevicecount|nvml"}},
          evaluate};
}

}  // namespace fx::knowledge
