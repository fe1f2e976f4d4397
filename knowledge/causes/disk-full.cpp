#include "knowledge/causes/cause.h"
#include "knowledge/causes/host_memory.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  for (const int line : m("full").lines) {
    const auto& low = s.book.at(line).low;
    if (matches_any("/dev/shm|shared memory|inotify|nccl-", low) || in_shared_memory(s, line)) continue;
    out.score = 0.93;
    if (out.lines.size() < 4) out.show(line);
  }
  if (out.score == 0 && m("write") && s.book.mentions("unexpected pos")) out = claim(0.75, m("write"));
  // The writer failed and some file system is full.
  if (out.score == 0 && m("writer") && m("usage") && s.book.mentions("100%")) out = claim(0.88, m("writer"), 2);
  if (out.score == 0) return out;
  const std::vector<int> failed = out.lines;
  out.show(m("write"), 1).show(m("usage"), 2);
  auto rank = s.one_rank(failed);
  // Without ranks on the error itself, the rank that announced the save.
  if (!rank) {
    const auto savers = s.book.ranks_of(m("save").lines);
    if (s.book.ranks_of(failed).empty() && savers.size() == 1) rank = *savers.begin();
  }
  return out.root(rank);
}

}  // namespace

CauseRule disk_full() {
  return {"disk-full",
          {{"full",
            "no space left on device|errno 28|enospc|disk quota exceeded|errno 122|edquot"
            "|quota exceeded|not enough free disk space|out of disk space|disk is full"
            "|filesystem is full|insufficient*disk space|storage quota|not enough space on"
            "|insufficientstorage|no space left"},
           {"write",
            "unexpected pos|pytorchstreamwriter failed|inline_container.cc|file write failed"
            "|short write"},
           {"writer", "pytorchstreamwriter failed|file write failed|short write|error while serializing"},
           {"usage", "df /|100% /|100%*/|df -h|lfs quota|quota -|use%*mounted|lfs df"},
           {"save", "saving|checkpoint|partial"}},
          evaluate};
}

}  // namespace fx::knowledge
