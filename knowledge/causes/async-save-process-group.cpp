#include <algorithm>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("async")) return {};
  std::vector<int> failed;
  for (const int line : m("failed").lines) {
    if (matches_any("error|exception|assert|failed|detected missing", s.book.at(line).low)) failed.push_back(line);
  }
  const bool named = s.book.mentions(
      "async_mode|_async_process|async_save|asynccheckpoint|async_checkpoint|async save|ckpt-thread|async checkpoint|_async_executor|background "
      "save|checkpoint thread");
  if (failed.empty() || !named) return {};
  // A full disk or a missing file in the background save is that fault, not the group's.
  if (s.book.mentions("no space left|quota|stale file|permission denied")) return {};
  Claim out;
  out.score = 0.93;
  for (const int line : failed) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.show(m("async"), 3);
}

}  // namespace

CauseRule async_save_process_group() {
  return {
      "async-save-process-group",
      {{"async",
        "async_mode|_async_process|background process|async_save|async save|asynccheckpoint|ckpt-thread|checkpoint thread|async_checkpoint"
        "|background thread|background save|background*checkpoint|asynccheckpointexecutor"
        "|async_executor|asynchronous*checkpoint|async checkpoint|save thread|exception in thread"},
       {"failed",
        "connection closed by peer|connection reset|no backend type|missing ranks|process group"
        "|default process group|gather_object|cpu backend|gloo|already been destroyed|invalid usage|interleaved|hangs"
        "|not been initialized|destroy_process_group|timed out"}},
      evaluate};
}

}  // namespace fx::knowledge
