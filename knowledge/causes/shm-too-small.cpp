#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/host_memory.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  const auto add = [&](const Hits& hits, double score) {
    for (const int line : hits.lines) {
      const auto& low = s.book.at(line).low;
      if (matches_any("pcie bus error", low)) continue;  // a link's, corrected or not
      if (matches_any("$ |shm-size=|--ipc=host", low) && !matches_any("error|fail|killed", low)) continue;
      out.score = std::max(out.score, score);
      if (out.lines.size() < 4) out.show(line);
    }
  };
  add(m("segment"), 0.93);
  add(m("bus"), 0.9);
  for (const int line : m("full").lines) {
    if (in_shared_memory(s, line)) out.score = 0.93, out.show(line);
  }
  if (out.score == 0) return out;
  std::vector<int> failed = out.lines;
  for (const int line : m("usage").lines) {
    if (s.book.at(line).low.find('%') != std::string::npos || s.book.at(line).low.find("shm ") != std::string::npos)
      out.show(line);
  }
  for (const auto& exception : s.exceptions) {
    if (exception.message.find("shared memory") != std::string::npos) failed.push_back(exception.line);
  }
  return out.root(s.one_rank(failed));
}

}  // namespace

CauseRule shm_too_small() {
  return {
      "shm-too-small",
      {{"bus",
        "bus error|out of shared memory|insufficient shared memory"
        "|unable to open shared memory object|unable to allocate shared memory"
        "|shared memory*no space"},
       {"segment",
        "mmap*</torch|mmap*/dev/shm|shared memory segment|/dev/shm*no space|no space left on device*/dev/shm|/dev/shm/nccl-"
        "|failed to extend /dev/shm|/torch_*no space left|posix_fallocate*shm|shm_open"
        "|error while creating shared memory|call to posix_fallocate failed"},
       {"usage", "/dev/shm|shm _|--shm-size|--ipc"},
       {"full", "no space left on device"}},
      evaluate};
}

}  // namespace fx::knowledge
